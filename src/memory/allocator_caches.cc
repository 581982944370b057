// The threads' caches: how a thread finds its own, what happens to it when the thread ends or the
// allocator goes, and how anybody recalls them.

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "memory/allocator_core.h"

namespace quiesce::memory {

constinit thread_local LastCache last_cache;

// The allocators that exist, for threads that end. Never destroyed.
struct AllocatorRegistry {
  base::Mutex mutex;
  absl::flat_hash_map<uint64_t, AllocatorCore*> cores ABSL_GUARDED_BY(mutex);

  static AllocatorRegistry& get() {
    static AllocatorRegistry& registry = *new AllocatorRegistry;
    return registry;
  }
};

// What a thread's record keeps for this layer: the thread's caches, one per allocator.
struct CachesOfThread {
  struct Entry {
    uint64_t allocator;
    ThreadCache* cache;
  };
  std::vector<Entry> entries;
};

// The exit hook: gives back what the thread kept in allocators that still exist.
void flush_ended_thread(void* value) {
  last_cache = {};
  auto* caches = static_cast<CachesOfThread*>(value);
  AllocatorRegistry& registry = AllocatorRegistry::get();
  for (const CachesOfThread::Entry& entry : caches->entries) {
    base::MutexLock lock(registry.mutex);
    auto found = registry.cores.find(entry.allocator);
    if (found != registry.cores.end()) found->second->remove_cache(entry.cache);
  }
  delete caches;
}

void AllocatorCore::register_for_thread_ends() {
  domain_.set_exit_hook(epoch::ThreadSlot::kMagazines, &flush_ended_thread);
  AllocatorRegistry& registry = AllocatorRegistry::get();
  base::MutexLock lock(registry.mutex);
  registry.cores[id_] = this;
}

void AllocatorCore::drop_caches() {
  {
    AllocatorRegistry& registry = AllocatorRegistry::get();
    base::MutexLock lock(registry.mutex);
    registry.cores.erase(id_);
  }
  recall();
  base::MutexLock lock(caches_mutex_);
  while (caches_ != nullptr) delete std::exchange(caches_, caches_->next);
}

ThreadCache* AllocatorCore::make_cache() {
  if (ThreadCache* known = cache()) return known;
  epoch::ThreadRecord& record = domain_.record();
  auto* caches = static_cast<CachesOfThread*>(record.get(epoch::ThreadSlot::kMagazines));
  if (caches == nullptr) {
    caches = new CachesOfThread;
    record.set(epoch::ThreadSlot::kMagazines, caches);
  }
  for (const CachesOfThread::Entry& entry : caches->entries) {
    if (entry.allocator != id_) continue;
    last_cache = {id_, entry.cache};
    return entry.cache;
  }
  {
    // Entries of allocators that are gone.
    AllocatorRegistry& registry = AllocatorRegistry::get();
    base::MutexLock lock(registry.mutex);
    std::erase_if(caches->entries,
                  [&](const CachesOfThread::Entry& entry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                    return !registry.cores.contains(entry.allocator);
                  });
  }
  ThreadCache* made;
  {
    base::MutexLock lock(caches_mutex_);
    made = new ThreadCache(static_cast<uint8_t>(next_home_++ % shards_.size()));
    made->next = caches_;
    if (caches_ != nullptr) caches_->previous = made;
    caches_ = made;
    ++cache_count_;
  }
  caches->entries.push_back({id_, made});
  last_cache = {id_, made};
  return made;
}

void AllocatorCore::remove_cache(ThreadCache* cache) {
  // Flushed while it can still be found: who closes an account, or recalls, meets its credits in the
  // cache or back in the ledger. Its thread, which would fill it again, is here.
  flush(*cache);
  {
    base::MutexLock lock(caches_mutex_);
    (cache->previous != nullptr ? cache->previous->next : caches_) = cache->next;
    if (cache->next != nullptr) cache->next->previous = cache->previous;
    --cache_count_;
  }
  // Nobody finds it any more; who found it before has left the list.
  delete cache;
}

uint64_t AllocatorCore::cache_count() {
  base::MutexLock lock(caches_mutex_);
  return cache_count_;
}

Shard& AllocatorCore::home() { return *shards_[make_cache()->home()]; }

void AllocatorCore::flush_locked(ThreadCache& cache, uint64_t down_to) {
  // The largest first: they hold most, and a miss costs them least.
  for (uint16_t i = kClasses; i-- > 0 && cache.cached() > down_to;) {
    BlockRecord* list = cache.take_all(i, classes_);
    while (list != nullptr) {
      // A run of blocks of one shard is one push.
      BlockRecord* last = list;
      while (last->next() != nullptr && last->next()->shard == list->shard) last = last->next();
      BlockRecord* rest = last->next();
      shards_[list->shard]->push_remote(list, last);
      list = rest;
    }
  }
}

void AllocatorCore::flush(ThreadCache& cache) {
  {
    base::SpinLockHolder holder(cache.latch());
    flush_locked(cache, 0);
    cache.give_back_credits(ledger_);
  }
  drain_where_free();
}

void AllocatorCore::recall() {
  base::MutexLock lock(caches_mutex_);
  for (ThreadCache* cache = caches_; cache != nullptr; cache = cache->next) {
    base::SpinLockHolder holder(cache->latch());
    flush_locked(*cache, 0);
    cache->give_back_credits(ledger_);
  }
}

void AllocatorCore::recall_account(AccountNode* account) {
  base::MutexLock lock(caches_mutex_);
  for (ThreadCache* cache = caches_; cache != nullptr; cache = cache->next) {
    base::SpinLockHolder holder(cache->latch());
    cache->give_back_credit(account, ledger_);
  }
}

void AllocatorCore::drain_where_free() {
  for (auto& shard : shards_) {
    if (!shard->has_remote() || !shard->lock().try_lock()) continue;
    shard->drain_remote();
    shard->lock().unlock();
  }
}

void AllocatorCore::drain_all() {
  for (auto& shard : shards_) {
    base::SpinLockHolder holder(shard->lock());
    shard->drain_remote();
  }
}

}  // namespace quiesce::memory
