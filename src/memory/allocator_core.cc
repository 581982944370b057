#include "memory/allocator_core.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "memory/sanitizer.h"

namespace quiesce::memory {

namespace {

size_t round_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

uint32_t shard_count(uint32_t wanted) {
  if (wanted == 0) wanted = 2 * std::max(std::thread::hardware_concurrency(), 1u);
  return std::clamp(wanted, 1u, 128u);
}

}  // namespace

AllocatorCore::AllocatorCore(device::Device& device, epoch::Domain& domain,
                             const AllocatorOptions& options, std::unique_ptr<AddressSpace> space)
    : device_(device),
      domain_(domain),
      options_(options),
      id_(base::next_id()),
      keeps_points_(!device.completes_at_once()),
      hides_freed_((options.poison || kHidesFreed) && device.memory().host_accessible()),
      classes_(device.memory().block_alignment()),
      space_(std::move(space)),
      ledger_(*this, device.name(), options.magazine_bytes),
      device_total_(device.memory().memory().total) {
  const uint32_t count = shard_count(options.shards);
  for (uint32_t i = 0; i < count; ++i) {
    shards_.push_back(std::make_unique<Shard>(*space_, classes_, static_cast<uint8_t>(i)));
  }
  register_for_thread_ends();
}

AllocatorCore::~AllocatorCore() {
  drop_caches();
  trim(0);
  // Memory that is still live, pending, or that the driver would not take, goes with the address
  // range where the driver allows it, and stays mapped where it does not.
  for (auto& shard : shards_) {
    base::SpinLockHolder holder(shard->lock());
    for (Span* span = shard->all_spans(); span != nullptr; span = span->all_next) {
      unhide(space_->page_address(span->first_page), span->bytes());
    }
  }
  decommit_leftovers();
}

void AllocatorCore::decommit_leftovers() {
  const uint64_t chunks = space_->bytes() / space_->chunk_bytes();
  if (reserved_.load(std::memory_order_relaxed) == 0) return;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (space_->owner(chunk) == AddressSpace::kNobody) continue;
    device_.memory()
        .decommit(space_->page_address(chunk * space_->pages_per_chunk()), space_->chunk_bytes())
        .IgnoreError();
  }
}

// ---- Charges
// --------------------------------------------------------------------------------------

bool AllocatorCore::charge(AccountNode* account, size_t bytes, Refusal* refusal) {
  ThreadCache* cache = make_cache();
  base::SpinLockHolder holder(cache->latch());
  // Looked at under the latch: whoever made it tight recalls this cache after us, or has before us.
  Credit* credit = ledger_.tight() ? nullptr : cache->make_credit(account, ledger_);
  if (credit == nullptr) return ledger_.charge(account, bytes, refusal);
  if (ThreadCache::spend(*credit, bytes)) return true;
  return ledger_.draw(*credit, bytes, refusal) && ThreadCache::spend(*credit, bytes);
}

void AllocatorCore::uncharge(AccountNode* account, size_t bytes) {
  ThreadCache* cache = make_cache();
  base::SpinLockHolder holder(cache->latch());
  Credit* credit = ledger_.tight() ? nullptr : cache->make_credit(account, ledger_);
  if (credit == nullptr) {
    ledger_.uncharge(account, bytes);
    return;
  }
  const uint64_t bound = account->credit_bound.load(std::memory_order_relaxed);
  // More than a thread may keep: half of that stays.
  if (!ThreadCache::refund(*credit, bytes, bound)) ledger_.give_back(*credit, bytes, bound / 2);
}

// ---- A miss ------------------------------------------------------------------------------------

absl::StatusOr<Block> AllocatorCore::allocate_slow(size_t bytes, const Request& request) {
  if (domain_.forked()) return base::forked_child_error();
  if (bytes == 0) return Block{};
  const size_t alignment = std::max(request.alignment, classes_.unit());
  if ((request.alignment & (request.alignment - 1)) != 0 || alignment > (size_t{2} << 20)) {
    return base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("alignment ", request.alignment, " is not a power of two up to 2 MiB"));
  }
  uint64_t most = std::min<uint64_t>(space_->bytes(), device_total_);
  if (options_.limit != 0) most = std::min(most, options_.limit);
  if (bytes > most) {
    return base::make_error(
        ErrorKind::kTooLarge,
        absl::StrCat(bytes, " bytes for \"", request.label, "\" are more than ", device_.name(),
                     " could ever give (", most, "); split the request"));
  }

  Demand demand;
  demand.asked = bytes;
  demand.request = &request;
  demand.account = request.account != nullptr && !request.account->empty() ? request.account->node_
                                                                           : &ledger_.root();
  demand.exact = {round_up(bytes, kPageBytes), kNoClass, alignment, request.stream};
  demand.rounded = demand.exact;
  if (bytes <= kClassedBytes && alignment <= kPageBytes) {
    uint16_t size_class = classes_.class_of(round_up(bytes, alignment));
    // Among eight steps there is a power of two, whose alignment is itself.
    while (classes_.alignment_of(size_class) < alignment) ++size_class;
    demand.rounded = {classes_.bytes_of(size_class), size_class, alignment, request.stream};
  }
  Refusal refusal;
  if (!admit(demand, &refusal)) return quota_exceeded(demand, refusal);
  absl::StatusOr<BlockRecord*> record = obtain(demand);
  if (!record.ok()) {
    uncharge(demand.account, demand.charged);
    return std::move(record).status();
  }
  return hand_out(*record, demand.charged, bytes, demand.account, request);
}

bool AllocatorCore::admit(Demand& demand, Refusal* refusal) {
  auto try_both = [&] {
    if (charge(demand.account, demand.rounded.bytes, refusal)) {
      demand.charged = demand.rounded.bytes;
      return true;
    }
    if (demand.exact.bytes >= demand.rounded.bytes ||
        !charge(demand.account, demand.exact.bytes, refusal)) {
      return false;
    }
    demand.charged = demand.exact.bytes;
    demand.rounded = demand.exact;
    return true;
  };
  if (try_both()) return true;
  // Refused while threads keep credit: take all of it back, let nobody keep any, and ask again.
  ledger_.tighten();
  recall();
  const bool admitted = try_both();
  ledger_.relax();
  return admitted;
}

BlockRecord* AllocatorCore::find_in(Shard& shard, const Search& search, bool wait) {
  for (;;) {
    if (wait) {
      shard.lock().lock();
    } else if (!shard.lock().try_lock()) {
      return nullptr;
    }
    Found found = shard.find(search);
    if (found.record == nullptr && shard.has_remote()) {
      shard.drain_remote();
      found = shard.find(search);
    }
    shard.lock().unlock();
    if (found.record != nullptr || !found.needs_provision) return found.record;
    shard.provision(search.size_class);
  }
}

BlockRecord* AllocatorCore::find(const Search& search, bool wait) {
  const size_t first = make_cache()->home();
  for (size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = *shards_[(first + i) % shards_.size()];
    if (BlockRecord* record = find_in(shard, search, wait)) return record;
  }
  return nullptr;
}

BlockRecord* AllocatorCore::take_from_magazine(const Search& search) {
  if (search.size_class == kNoClass) return nullptr;
  ThreadCache* here = make_cache();
  for (int looks = 0; looks < kMagazineLooks; ++looks) {
    BlockRecord* candidate;
    {
      base::SpinLockHolder holder(here->latch());
      if (here->peek(search.size_class) == nullptr) return nullptr;
      candidate = here->take(search.size_class, search.bytes);
    }
    // The device is asked without the latch.
    const Point point = candidate->point();
    if (point.empty() || point.stream == search.stream) return candidate;
    if (device_.is_complete(point)) {
      candidate->set_point({});
      return candidate;
    }
    // In the magazine it would hide the blocks below it from this stream.
    give_to_shard(candidate);
  }
  return nullptr;
}

absl::StatusOr<BlockRecord*> AllocatorCore::grow(const Search& search) {
  const size_t chunk = space_->chunk_bytes();
  const bool slab = search.size_class != kNoClass && classes_.is_slab(search.size_class);
  const size_t wanted = slab ? classes_.slab_pages(search.size_class) * kPageBytes : search.bytes;
  const uint64_t chunks = (wanted + chunk - 1) / chunk;
  const uint64_t bytes = chunks * chunk;
  // Counted, so that a ladder about to fail knows that somebody else's attempt may yet be undone.
  struct Growing {
    explicit Growing(std::atomic<uint32_t>& count) : count(count) { count.fetch_add(1); }
    ~Growing() { count.fetch_sub(1); }
    std::atomic<uint32_t>& count;
  } growing(growing_);

  uint64_t reserved = reserved_.load(std::memory_order_relaxed);
  do {
    if (options_.limit != 0 && bytes > options_.limit - std::min(options_.limit, reserved)) {
      return base::make_error(
          ErrorKind::kOutOfMemory,
          absl::StrCat(reserved, " of the limit of ", options_.limit, " bytes are reserved"));
    }
  } while (!reserved_.compare_exchange_weak(reserved, reserved + bytes));
  const std::optional<uint64_t> first = space_->take(chunks);
  absl::Status status;
  if (!first.has_value()) {
    status = base::make_error(ErrorKind::kOutOfMemory,
                              absl::StrCat("no run of ", bytes, " free addresses"));
  } else {
    status =
        device_.memory().commit(space_->page_address(*first * space_->pages_per_chunk()), bytes);
    if (!status.ok()) space_->give(*first, chunks);
  }
  if (!status.ok()) {
    reserved_.fetch_sub(bytes);
    return status;
  }
  uint64_t peak = peak_reserved_.load(std::memory_order_relaxed);
  while (peak < reserved + bytes &&
         !peak_reserved_.compare_exchange_weak(peak, reserved + bytes, std::memory_order_relaxed)) {
  }
  if (hides_freed_) {
    hide(space_->page_address(*first * space_->pages_per_chunk()), bytes);
  }

  Shard& shard = home();
  for (bool added = false;;) {
    Found found;
    {
      base::SpinLockHolder holder(shard.lock());
      if (!added) added = shard.add_chunks(*first, chunks);
      // In the same section as the chunks' arrival, so that nobody else gets them first.
      if (added) found = shard.find(search);
    }
    if (found.record != nullptr) return found.record;
    if (added && !found.needs_provision) break;
    shard.provision(search.size_class);
  }
  return base::make_error(ErrorKind::kOutOfMemory, "another request took the memory just obtained");
}

// ---- Free --------------------------------------------------------------------------------------

void AllocatorCore::settle(BlockRecord* record, size_t bytes) {
  if (!record->point().empty()) return;
  if (options_.poison) std::memset(record->data, kPoisonByte, bytes);
  hide(record->data, bytes);
}

void AllocatorCore::give_to_shard(BlockRecord* record) {
  Shard& shard = *shards_[record->shard];
  shard.push_remote(record, record);
  if (!shard.lock().try_lock()) return;
  shard.drain_remote();
  shard.lock().unlock();
}

absl::Status AllocatorCore::free_slow(BlockRecord* record, size_t bytes, AccountNode* account) {
  bool kept = false;
  if (record->size_class != kNoClass && bytes <= options_.magazine_bytes) {
    ThreadCache* cache = make_cache();
    base::SpinLockHolder holder(cache->latch());
    if (!ledger_.tight()) {
      if (cache->cached() + bytes > options_.magazine_bytes) {
        flush_locked(*cache,
                     std::min(options_.magazine_bytes / 2, options_.magazine_bytes - bytes));
      }
      cache->put(record, record->size_class, bytes);
      kept = true;
    }
  }
  if (!kept) give_to_shard(record);
  // After the memory: the account is charged until then.
  uncharge(account, bytes);
  return absl::OkStatus();
}

absl::Status AllocatorCore::free_pointer(void* data, Point after) {
  if (domain_.forked()) return base::forked_child_error();
  if (space_->contains(data)) {
    const uint64_t page = space_->page_of(data);
    Span* span = space_->span(page);
    if (span != nullptr && page >= span->first_page && page < span->end_page()) {
      BlockRecord* record = nullptr;
      const Span::Kind kind = span->kind.load(std::memory_order_relaxed);
      if (kind == Span::Kind::kLarge) {
        record = &span->own;
      } else if (kind == Span::Kind::kSlab) {
        const size_t offset =
            static_cast<size_t>(static_cast<char*>(data) - space_->page_address(span->first_page));
        const size_t index = offset / span->block_bytes;
        if (index < span->blocks) record = &span->records[index];
      }
      if (record != nullptr && record->data == data) {
        const uint32_t word = record->word.load(std::memory_order_acquire);
        if ((word & BlockRecord::kStateMask) == BlockRecord::kLive) {
          return free(record, word >> 2, after);
        }
      }
    }
  }
  return not_live(data);
}

absl::Status AllocatorCore::not_live(const void* data) const {
  const auto address = absl::Hex(reinterpret_cast<uintptr_t>(data));
  if (!space_->contains(data) ||
      space_->owner(space_->page_of(data) / space_->pages_per_chunk()) == AddressSpace::kNobody) {
    return base::make_error(ErrorKind::kForeignPointer,
                            absl::StrCat("0x", address, " was not allocated from ", device_.name(),
                                         "; nothing was changed"));
  }
  return base::make_error(ErrorKind::kDoubleFree,
                          absl::StrCat("0x", address, " on ", device_.name(),
                                       " is not a live block (freed before, or not a block's first "
                                       "byte); nothing was changed"));
}

void AllocatorCore::set_reclaim_hook(std::function<bool(uint64_t)> hook) {
  auto shared = hook ? std::make_shared<std::function<bool(uint64_t)>>(std::move(hook)) : nullptr;
  base::MutexLock lock(hook_mutex_);
  reclaim_hook_.swap(shared);
}

const char* AllocatorCore::intern(std::string_view label) {
  base::MutexLock lock(labels_mutex_);
  auto found = labels_.find(label);
  if (found == labels_.end()) found = labels_.emplace(label).first;
  return found->c_str();
}

}  // namespace quiesce::memory
