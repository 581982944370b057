#include "epoch/thread_record.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/failpoint.h"
#include "base/ids.h"
#include "epoch/domain.h"

namespace quiesce::epoch {

constinit thread_local ThreadCache thread_cache;

namespace {

// What a thread needs to give its records back when it ends.
struct ThreadState {
  ThreadRecord* first = nullptr;  // its records, one per domain
  int exit_rounds = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadState thread_state;

}  // namespace

void ThreadRecord::set_name(const base::ThreadName& name) {
  uint64_t words[2];
  static_assert(sizeof(words) == sizeof(name.text));
  std::memcpy(words, name.text, sizeof(words));
  for (int i = 0; i < 2; ++i) name_words_[i].store(words[i], std::memory_order_relaxed);
}

std::string ThreadRecord::name() const {
  char text[17] = {};
  for (int i = 0; i < 2; ++i) {
    const uint64_t word = name_words_[i].load(std::memory_order_relaxed);
    std::memcpy(text + 8 * i, &word, sizeof(word));
  }
  return text;
}

// The end of a thread. A key of pthread, not a thread_local with a destructor: keys come after all
// thread_locals, so that a pin or a handle in one of those still finds the record.
struct Domain::ThreadExit {
  static pthread_key_t key() {
    static const pthread_key_t key = [] {
      pthread_key_t made;
      if (pthread_key_create(&made, run) != 0) {
        std::fprintf(stderr, "quiesce: no pthread key left for the end of threads\n");
        std::abort();
      }
      return made;
    }();
    return key;
  }

  static void arm() { pthread_setspecific(key(), &thread_state); }

  static void run(void* /*state*/) {
    if (thread_state.first == nullptr) return;
    // Keys are served in rounds; the first one is left to the keys of others.
    if (++thread_state.exit_rounds == 1) {
      arm();
      return;
    }
    ThreadRecord* record = thread_state.first;
    while (record != nullptr) {
      ThreadRecord* next = record->next_of_thread_;
      if (record->domain().forked()) {
        // Its locks may be held by threads that this process does not have.
      } else if (!record->nested()) {
        record->domain().release_record(*record);
      } else {
        // Rule 10: kept until the thread is inside nothing; named as the pin of a thread that is gone.
        record->exiting_ = true;
        record->gone_.store(true, std::memory_order_relaxed);
        record->bell_.fetch_or(ThreadRecord::kToDo, std::memory_order_relaxed);
        record->domain().orphan_foreign(*record);
      }
      record = next;
    }
  }
};

ThreadRecord* Domain::existing_record() {
  if (thread_cache.generation == generation_) return thread_cache.record;
  for (ThreadRecord* record = thread_state.first; record != nullptr;
       record = record->next_of_thread_) {
    if (record->domain_ == this) return record;
  }
  return nullptr;
}

ThreadRecord& Domain::record_slow() {
  ThreadRecord* record = existing_record();
  if (record == nullptr) {
    record = acquire_record();
    record->next_of_thread_ = thread_state.first;
    thread_state.first = record;
  }
  thread_cache = {generation_, record};
  return *record;
}

ThreadRecord* Domain::acquire_record() {
  const bool membarrier = form_ == DomainOptions::PinForm::kMembarrier;
  // A forked child may find the lock held by a thread it does not have: it gets a record of its own,
  // which no pass will ever read.
  if (forked()) return new ThreadRecord(*this, membarrier);
  ThreadExit::arm();
  ThreadRecord* record = nullptr;
  {
    base::SpinLockHolder lock(record_lock_);
    record = free_records_;
    if (record != nullptr) {
      free_records_ = record->next_free_;
      --free_record_count_;
    }
  }
  if (record == nullptr) {
    record = new ThreadRecord(*this, membarrier);
    record_count_.fetch_add(1, std::memory_order_relaxed);
    record->next_ = records_.load(std::memory_order_relaxed);
    // seq_cst, as a release of the record's fields to passes, and before this thread's first publish
    // in the one total order: a pass that misses the record retired before that publish's validation.
    while (!records_.compare_exchange_weak(record->next_, record, std::memory_order_seq_cst)) {
    }
  }
  record->set_name(base::current_thread_name());
  record->tenure_.store(base::next_id(), std::memory_order_relaxed);
  record->gone_.store(false, std::memory_order_relaxed);
  record->exiting_ = false;
  return record;
}

void Domain::release_record(ThreadRecord& record) {
  record.in_exit_hook_ = true;
  for (int i = 0; i < kThreadSlots; ++i) {
    const ThreadExitHook hook = exit_hooks_[i].load(std::memory_order_acquire);
    if (record.opaque_[i] == nullptr) continue;
    if (hook != nullptr) hook(record.opaque_[i]);
    record.opaque_[i] = nullptr;
  }
  record.in_exit_hook_ = false;

  // What the thread still had to do is left to others (rule 17).
  const bool rung = record.bell_.exchange(0, std::memory_order_seq_cst) != 0;
  if (rung) request_pass();
  orphan_foreign(record);
  QUIESCE_FAILPOINT("epoch.exit.releasing");

  if (thread_cache.record == &record) thread_cache = {};
  for (ThreadRecord** link = &thread_state.first; *link != nullptr;
       link = &(*link)->next_of_thread_) {
    if (*link == &record) {
      *link = record.next_of_thread_;
      break;
    }
  }
  record.next_of_thread_ = nullptr;
  record.exiting_ = false;
  record.gone_.store(false, std::memory_order_relaxed);
  record.tenure_.store(0, std::memory_order_relaxed);
  base::SpinLockHolder lock(record_lock_);
  record.next_free_ = free_records_;
  free_records_ = &record;
  ++free_record_count_;
}

void Domain::orphan_foreign(ThreadRecord& record) {
  if (record.foreign_.empty()) return;
  base::SpinLockHolder lock(record_lock_);
  orphaned_foreign_.take(record.foreign_);
  has_orphaned_foreign_.store(true, std::memory_order_release);
}

void Domain::leave_outermost(ThreadRecord& record) {
  run_foreign();
  if (record.exiting_ && !record.nested() && !forked()) release_record(record);
}

void Domain::set_exit_hook(ThreadSlot slot, ThreadExitHook hook) {
  exit_hooks_[static_cast<int>(slot)].store(hook, std::memory_order_release);
}

NoWaitScope::NoWaitScope(Domain& domain) {
  if (domain.forked()) return;
  record_ = &domain.record();
  ++record_->no_wait_;
}

}  // namespace quiesce::epoch
