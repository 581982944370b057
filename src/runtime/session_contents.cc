#include "runtime/session_contents.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/stream.h"
#include "runtime/core.h"
#include "runtime/report_format.h"

namespace quiesce::runtime {

SessionContents::SessionContents(Core& core, SessionUser& user, epoch::Incarnation& incarnation)
    : core_(core), user_(user), incarnation_(incarnation), random_(user.seed()) {
  core_.enlist(*this);
}

SessionContents::~SessionContents() {
  // Contents that were never linked, because another thread was first, are not destroyed by a pass.
  core_.strike(*this);
  delete names_.load(std::memory_order_acquire);
  delete stream_.load(std::memory_order_acquire);
}

std::string_view SessionContents::session_name() const { return user_.name(); }
device::Device& SessionContents::device() const { return *user_.device().device; }
memory::Allocator& SessionContents::allocator() const { return *user_.device().allocator; }

graph::NameTable& SessionContents::names() {
  graph::NameTable* names = names_.load(std::memory_order_acquire);
  if (names != nullptr) return *names;
  auto fresh = std::make_unique<graph::NameTable>();
  // acq_rel: publishes the table; a loser sees the winner's.
  if (names_.compare_exchange_strong(names, fresh.get(), std::memory_order_acq_rel)) {
    names = fresh.release();
  }
  return *names;
}

absl::StatusOr<device::Stream*> SessionContents::stream() {
  device::Stream* stream = stream_.load(std::memory_order_acquire);
  if (stream != nullptr) return stream;
  // Made with no lock held: it may be a driver call.
  QUIESCE_ASSIGN_OR_RETURN(std::unique_ptr<device::Stream> fresh, device().create_stream());
  if (stream_.compare_exchange_strong(stream, fresh.get(), std::memory_order_acq_rel)) {
    stream = fresh.release();
  }
  return stream;
}

memory::Account& SessionContents::account() {
  // acquire: pairs with the release below, so that the account is seen whole.
  if (!has_account_.load(std::memory_order_acquire)) {
    const memory::Account& parent = user_.account();
    base::MutexLock lock(mutex_);
    if (!has_account_.load(std::memory_order_relaxed)) {
      account_ = memory::Account::open(allocator(), &parent, memory::AccountLevel::kIncarnation,
                                       user_.name(), user_.quota());
      has_account_.store(true, std::memory_order_release);
    }
  }
  return account_;
}

AccountFigures SessionContents::account_figures() const {
  if (!has_account_.load(std::memory_order_acquire)) return {};
  return account_.figures();
}

void SessionContents::reset_peak() {
  if (has_account_.load(std::memory_order_acquire)) account_.reset_peak();
}

absl::Status SessionContents::cancelled_error(const char* what) const {
  std::string cause;
  {
    base::MutexLock lock(mutex_);
    cause = cancel_cause_;
  }
  if (cause.empty()) {
    // A clear asked for it; the stale error names that one.
    cause = std::string(incarnation_.domain().stale_error(incarnation_, "it").message());
  }
  return base::make_error(
      ErrorKind::kCancelled,
      absl::StrCat(what, " was asked to stop in session \"", user_.name(), "\": ", cause));
}

void SessionContents::cancel(std::string cause) {
  {
    base::MutexLock lock(mutex_);
    if (cancel_cause_.empty()) cancel_cause_ = std::move(cause);
  }
  incarnation_.request_cancel();
}

ObjectRecord* SessionContents::adopt(std::unique_ptr<SessionObject> object, ObjectKind kind,
                                     std::string name, SourceLocation where) {
  auto* record = new ObjectRecord(incarnation_, std::move(object), kind, std::move(name), where);
  base::MutexLock lock(mutex_);
  record->previous_ = last_;
  (last_ != nullptr ? last_->next_ : first_) = record;
  last_ = record;
  objects_.fetch_add(1, std::memory_order_relaxed);
  if (record->is_graph()) incarnation_.add_unit();
  return record;
}

void SessionContents::end(ObjectRecord& record) {
  std::unique_ptr<SessionObject> object;
  {
    base::MutexLock lock(mutex_);
    (record.previous_ != nullptr ? record.previous_->next_ : first_) = record.next_;
    (record.next_ != nullptr ? record.next_->previous_ : last_) = record.previous_;
    object = std::move(record.object_);
    objects_.fetch_sub(1, std::memory_order_relaxed);
  }
  object.reset();
  if (record.is_graph()) incarnation_.remove_unit();
  record.drop_reference();
}

std::vector<LiveObject> SessionContents::list_objects() const {
  std::vector<LiveObject> list;
  base::MutexLock lock(mutex_);
  for (const ObjectRecord* record = first_; record != nullptr; record = record->next_) {
    LiveObject object;
    object.kind = std::string(object_kind_name(record->kind()));
    object.name = record->name();
    object.handles = record->handles();
    object.bytes = record->object()->bytes();
    object.where = place(record->where());
    list.push_back(std::move(object));
  }
  return list;
}

void SessionContents::destroy(epoch::ForeignList&) {
  core_.strike(*this);
  for (;;) {
    ObjectRecord* record = nullptr;
    {
      base::MutexLock lock(mutex_);
      record = last_;
    }
    if (record == nullptr) break;
    end(*record);
  }
  // A pass claims contents only when their stream has come to its end.
  delete stream_.exchange(nullptr, std::memory_order_acq_rel);
  if (has_account_.load(std::memory_order_acquire)) {
    [[maybe_unused]] const memory::AccountClosed closed = account_.close();
    assert(closed.bytes == 0 && "an object of the session kept memory beyond its end");
  }
}

}  // namespace quiesce::runtime
