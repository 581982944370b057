#include "memory/allocator.h"

#include <algorithm>
#include <utility>

#include "base/process.h"
#include "base/status_macros.h"
#include "memory/allocator_core.h"
#include "memory/sanitizer.h"

namespace quiesce::memory {

absl::StatusOr<std::unique_ptr<Allocator>> Allocator::create(device::Device& device,
                                                             epoch::Domain& domain,
                                                             const AllocatorOptions& options) {
  base::init_once();
  device::MemoryDriver& driver = device.memory();
  const size_t chunk = driver.chunk_bytes();
  const size_t range =
      options.address_range != 0 ? options.address_range : driver.reservation_limit();
  QUIESCE_ASSIGN_OR_RETURN(std::unique_ptr<AddressSpace> space,
                           AddressSpace::reserve(driver, range, std::min(range, 64 * chunk)));
  return std::unique_ptr<Allocator>(
      new Allocator(std::make_unique<AllocatorCore>(device, domain, options, std::move(space))));
}

Allocator::Allocator(std::unique_ptr<AllocatorCore> core) : core_(std::move(core)) {
  core_->root_.node_ = &core_->ledger_.root();
}

Allocator::~Allocator() {
  // The root goes with the ledger.
  core_->root_.node_ = nullptr;
}

absl::StatusOr<Block> Allocator::allocate(size_t bytes, const Request& request) {
  AllocatorCore& core = *core_;
  ThreadCache* cache = core.cache();
  // Zero wraps and takes the other path.
  if (cache != nullptr && bytes - 1 < kClassedBytes && request.alignment <= core.classes_.unit() &&
      (request.alignment & (request.alignment - 1)) == 0 && !core.domain_.forked() &&
      cache->latch().try_lock()) [[likely]] {
    const uint16_t size_class = core.classes_.class_of(bytes);
    const size_t size = core.classes_.bytes_of(size_class);
    AccountNode* account = request.account != nullptr && !request.account->empty()
                               ? request.account->node_
                               : &core.ledger_.root();
    BlockRecord* record = cache->peek(size_class);
    if (record != nullptr && (!core.keeps_points_ || AllocatorCore::usable(*record, request))) {
      Credit* credit = cache->credit(account);
      if (credit != nullptr && ThreadCache::spend(*credit, size)) [[likely]] {
        cache->take(size_class, size);
        cache->latch().unlock();
        return core.hand_out(record, size, bytes, account, request);
      }
    }
    cache->latch().unlock();
  }
  return core.allocate_slow(bytes, request);
}

absl::Status Allocator::free(const Block& block, Point after) {
  if (block.data == nullptr) return absl::OkStatus();
  return core_->free(block.record, block.serial, after);
}

absl::Status Allocator::free(void* data, Point after) {
  if (data == nullptr) return absl::OkStatus();
  return core_->free_pointer(data, after);
}

TrimReport Allocator::trim(const TrimOptions& options) { return core_->trim(options.bytes); }

void Allocator::flush_thread() {
  if (core_->domain_.forked()) return;
  if (ThreadCache* cache = core_->cache()) core_->flush(*cache);
}

void Allocator::recall() {
  if (!core_->domain_.forked()) core_->recall();
}

AllocatorFigures Allocator::figures() const { return core_->figures(); }
void Allocator::reset_peak() { core_->reset_peak(); }
MemorySnapshot Allocator::snapshot() { return core_->snapshot(); }

void Allocator::set_reclaim_hook(std::function<bool(uint64_t)> hook) {
  core_->set_reclaim_hook(std::move(hook));
}

const char* Allocator::intern(std::string_view label) { return core_->intern(label); }
device::Device& Allocator::device() const { return core_->device_; }
const Account& Allocator::account() const { return core_->root_; }
const AllocatorOptions& Allocator::options() const { return core_->options_; }
uint64_t Allocator::account_count() const { return core_->ledger_.accounts(); }
uint64_t Allocator::thread_cache_count() const { return core_->cache_count(); }

absl::Status AllocatorCore::free(BlockRecord* record, uint32_t serial, Point after) {
  if (domain_.forked()) [[unlikely]]
    return base::forked_child_error();
  uint32_t word = serial << 2 | BlockRecord::kLive;
  // Acquire and release: of two frees one wins, and it sees the record as the winner before it left
  // it.
  if (!record->word.compare_exchange_strong(word, serial << 2 | BlockRecord::kIdle,
                                            std::memory_order_acq_rel, std::memory_order_relaxed))
      [[unlikely]] {
    return not_live(record->data);
  }
  AccountNode* account = record->account();
  // An empty `after` leaves the point that the memory came with: the user knows of no work on it.
  if (keeps_points_ && !after.empty()) record->set_point(after);
  const uint16_t size_class = record->size_class;
  if (size_class != kNoClass) [[likely]] {
    const size_t bytes = classes_.bytes_of(size_class);
    if (hides_freed_) settle(record, bytes);
    ThreadCache* here = cache();
    if (here != nullptr && here->latch().try_lock()) [[likely]] {
      Credit* credit = here->credit(account);
      // Tight is looked at under the latch: whoever made it so recalls this cache after us, or has
      // before us. Relaxed: a bound that is a moment old costs nothing but a little credit.
      if (credit != nullptr && !ledger_.tight() &&
          here->cached() + bytes <= options_.magazine_bytes &&
          ThreadCache::refund(*credit, bytes,
                              account->credit_bound.load(std::memory_order_relaxed))) [[likely]] {
        here->put(record, size_class, bytes);
        here->latch().unlock();
        return absl::OkStatus();
      }
      here->latch().unlock();
    }
    return free_slow(record, bytes, account);
  }
  const size_t bytes = bytes_of(record);
  if (hides_freed_) settle(record, bytes);
  return free_slow(record, bytes, account);
}

absl::StatusOr<Block> AllocatorCore::hand_out(BlockRecord* record, size_t bytes, size_t asked,
                                              AccountNode* account, const Request& request) {
  // Release, each of them, for a snapshot that still reads the life before: it then sees that the
  // word changed. On x86 these are plain stores.
  record->link.store(account, std::memory_order_release);
  record->label.store(request.label, std::memory_order_release);
  record->file.store(request.where.file(), std::memory_order_release);
  record->line.store(request.where.line(), std::memory_order_release);
  record->slack.store(static_cast<uint32_t>(bytes - asked), std::memory_order_release);
  const uint32_t serial = (record->word.load(std::memory_order_relaxed) >> 2) + 1;
  record->word.store(serial << 2 | BlockRecord::kLive, std::memory_order_release);
  if (hides_freed_) unhide(record->data, bytes);
  return Block{record->data, bytes, record, serial << 2 >> 2};
}

}  // namespace quiesce::memory
