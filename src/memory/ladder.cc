// What happens when a block is not to be had at once. Each step is followed by a fresh search:
// LOCAL (own magazine, own shard) -> DRAIN (remote lists, completed work) -> STEAL (sibling shards)
// -> GROW -> RECALL (all threads' magazines) -> RECLAIM (retired sessions) -> TRIM (idle chunks,
// for growth elsewhere) -> AWAIT (work on freed blocks, just enough, to a deadline) -> the typed
// error. ADMIT, which comes before all of them, is AllocatorCore::admit.

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/format_bytes.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "memory/allocator_core.h"

namespace quiesce::memory {
namespace {

constexpr int kReclaims = 16;     // times that RECLAIM may say it gained something
constexpr int kGrowthRaces = 64;  // times that another thread's growth is given a chance to end

}  // namespace

// The exact size instead of the rounded one: what was charged follows.
bool AllocatorCore::cover_exact(Demand& demand, const BlockRecord* record) {
  if (record->size_class != kNoClass || demand.charged == demand.exact.bytes) return true;
  if (demand.exact.bytes < demand.charged) {
    uncharge(demand.account, demand.charged - demand.exact.bytes);
  } else if (!charge(demand.account, demand.exact.bytes - demand.charged, nullptr)) {
    return false;
  }
  demand.charged = demand.exact.bytes;
  return true;
}

absl::StatusOr<BlockRecord*> AllocatorCore::obtain(Demand& demand) {
  if (BlockRecord* record = take_from_magazine(demand.rounded)) return record;
  if (BlockRecord* record = find(demand.rounded, /*wait=*/false)) return record;
  if (keeps_points_) poll_pending(/*wait=*/false, 0, nullptr);
  // A shard that was busy is waited for now: its lock is held for moments, and growing costs more.
  if (BlockRecord* record = find(demand.rounded, /*wait=*/true)) return record;
  absl::StatusOr<BlockRecord*> record = grow(demand.rounded);
  if (record.ok() || error_kind(record.status()) == ErrorKind::kDeviceLost) return record;
  return climb(demand);
}

absl::StatusOr<BlockRecord*> AllocatorCore::climb(Demand& demand) {
  // From here on threads put what they free where this search finds it.
  struct Tight {
    explicit Tight(Ledger& ledger) : ledger(ledger) { ledger.tighten(); }
    ~Tight() { ledger.relax(); }
    Ledger& ledger;
  } tight(ledger_);
  const absl::Duration patience = demand.request->patience == absl::ZeroDuration()
                                      ? options_.patience
                                      : demand.request->patience;
  const absl::Time deadline = absl::Now() + patience;
  absl::Status driver;
  int reclaims = 0;
  int races = 0;
  for (;;) {
    recall();
    drain_all();
    if (keeps_points_) poll_pending(/*wait=*/true, 0, nullptr);
    for (const Search* search : {&demand.rounded, &demand.exact}) {
      BlockRecord* record = find(*search, /*wait=*/true);
      if (record == nullptr) continue;
      if (cover_exact(demand, record)) return record;
      give_to_shard(record);
    }

    if (reclaims < kReclaims) {
      std::shared_ptr<std::function<bool(uint64_t)>> hook;
      {
        base::MutexLock lock(hook_mutex_);
        hook = reclaim_hook_;
      }
      if (hook != nullptr && (*hook)(demand.exact.bytes)) {
        ++reclaims;
        continue;
      }
      reclaims = kReclaims;  // nothing to reclaim: not asked again for this request
    }

    for (const Search* search : {&demand.rounded, &demand.exact}) {
      absl::StatusOr<BlockRecord*> record = trim_and_grow(*search);
      if (record.ok()) {
        if (cover_exact(demand, *record)) return *record;
        give_to_shard(*record);
      } else {
        driver = std::move(record).status();
        if (error_kind(driver) == ErrorKind::kDeviceLost) return driver;
      }
    }

    Pending wanted;
    if (keeps_points_ && poll_pending(/*wait=*/true, demand.exact.bytes, &wanted)) continue;
    if (!wanted.point.empty() && absl::Now() < deadline) {
      // A deadline that passes is found by the next look; a lost device has no pending work.
      device_.await(wanted.point, deadline).IgnoreError();
      continue;
    }
    // Bytes that another thread took for a growth that may still fail are not gone yet.
    if (growing_.load() != 0 && races < kGrowthRaces) {
      ++races;
      std::this_thread::yield();
      continue;
    }
    return out_of_memory(demand, driver);
  }
}

absl::StatusOr<BlockRecord*> AllocatorCore::trim_and_grow(const Search& search) {
  // One at a time: what one thread trims, it grows into.
  base::MutexLock lock(driver_mutex_);
  const uint64_t chunk = space_->chunk_bytes();
  const uint64_t wanted = (search.bytes + chunk - 1) / chunk * chunk;
  for (;;) {
    absl::StatusOr<BlockRecord*> record = grow(search);
    if (record.ok()) return record;
    uint64_t failed = 0;
    // Just enough: what the limit and the driver lack.
    const uint64_t reserved = reserved_.load(std::memory_order_relaxed);
    uint64_t missing = 0;
    if (options_.limit != 0 && reserved + wanted > options_.limit) {
      missing = reserved + wanted - options_.limit;
    }
    const uint64_t free = device_.memory().memory().free;
    if (free < wanted) missing = std::max(missing, wanted - free);
    if (release_idle(std::max(missing, chunk), &failed) == 0) return record;
  }
}

bool AllocatorCore::poll_pending(bool wait, uint64_t bytes, Pending* wanted) {
  if (wait) {
    pending_mutex_.lock();
  } else if (!pending_mutex_.try_lock()) {
    return false;
  }
  bool gained = false;
  for (auto& shard : shards_) {
    if (!shard->has_pending() && !shard->has_remote()) continue;
    BlockRecord* list;
    {
      base::SpinLockHolder holder(shard->lock());
      shard->drain_remote();
      list = shard->take_pending();
    }
    // Points of one stream complete in order, so most answers follow from the last one asked for.
    Point complete;
    Point incomplete;
    for (BlockRecord* record = list; record != nullptr; record = record->next()) {
      const Point point = record->point();
      bool done;
      if (point.stream == complete.stream && point.number <= complete.number) {
        done = true;
      } else if (point.stream == incomplete.stream && point.number >= incomplete.number) {
        done = false;
      } else {
        done = device_.is_complete(point);
        (done ? complete : incomplete) = point;
      }
      const uint64_t size = bytes_of(record);
      if (done) {
        record->set_point({});
        if (hides_freed_) settle(record, size);
        gained = true;
      } else if (wanted != nullptr) {
        // The first one that is enough by itself, else the largest.
        const bool enough = wanted->bytes >= bytes && !wanted->point.empty();
        if (!enough && (size >= bytes || size > wanted->bytes)) *wanted = {size, point};
      }
    }
    base::SpinLockHolder holder(shard->lock());
    while (list != nullptr) {
      BlockRecord* next = list->next();
      shard->take_in(list);
      list = next;
    }
  }
  pending_mutex_.unlock();
  return gained;
}

absl::Status AllocatorCore::quota_exceeded(const Demand& demand, const Refusal& refusal) {
  uint64_t id = 0;
  const std::string name = ledger_.name_of(refusal.account, &id);
  std::string text = absl::StrCat(account_level_name(refusal.level), " \"", name, "\" may use ",
                                  base::format_bytes(refusal.limit), ", ", base::format_bytes(refusal.charged),
                                  " are charged, ", base::format_bytes(demand.exact.bytes), " for \"",
                                  demand.request->label, "\" (", demand.request->where.base_name(),
                                  ":", demand.request->where.line(), ") do not fit");
  const std::vector<MemoryHolder> holders = holders_of(refusal.account);
  for (size_t i = 0; i < std::min<size_t>(holders.size(), 5); ++i) {
    absl::StrAppend(&text, "\n  ", base::format_bytes(holders[i].bytes), " in ", holders[i].blocks,
                    " blocks \"", holders[i].label, "\" of ", holders[i].session, " (",
                    holders[i].where.base_name(), ":", holders[i].where.line(), ")");
  }
  absl::StrAppend(
      &text, "\n  way out: ",
      demand.exact.bytes > refusal.limit
          ? absl::StrCat("this needs a limit of at least ", base::format_bytes(demand.exact.bytes))
          : "free some of these, or raise the limit");
  return base::make_error(ErrorKind::kQuotaExceeded, text);
}

absl::Status AllocatorCore::out_of_memory(const Demand& demand, const absl::Status& driver) {
  const MemorySnapshot now = snapshot();
  std::string text =
      absl::StrCat(device_.name(), " has no ", base::format_bytes(demand.exact.bytes), " for \"",
                   demand.request->label, "\" (", demand.request->where.base_name(), ":",
                   demand.request->where.line(), "): ", driver.message(), "\n", now.to_string());
  std::string hint;
  if (now.table.pending >= demand.exact.bytes) {
    hint = absl::StrCat(base::format_bytes(now.table.pending),
                        " wait for device work: a longer patience would have got them");
  } else if (now.largest_satisfiable > 0 && now.largest_satisfiable < demand.exact.bytes) {
    hint = absl::StrCat("a request of up to ", base::format_bytes(now.largest_satisfiable),
                        " would succeed; a smaller batch needs less");
  } else if (now.table.outside > now.table.reserved()) {
    hint = absl::StrCat("most memory in use, ", base::format_bytes(now.table.outside),
                        ", is not this process's allocator's");
  } else if (!now.holders.empty()) {
    hint = absl::StrCat("clear or shrink \"", now.holders[0].session, "\", which holds ",
                        base::format_bytes(now.holders[0].bytes));
  } else {
    hint = "nothing of this allocator is in use";
  }
  absl::StrAppend(&text, "  way out: ", hint);
  return base::make_error(ErrorKind::kOutOfMemory, text);
}

}  // namespace quiesce::memory
