#include "memory/shard.h"

#include <algorithm>
#include <utility>

namespace quiesce::memory {

Shard::Shard(AddressSpace& space, const SizeClasses& classes, uint8_t number)
    : space_(space), classes_(classes), number_(number), heap_(space, number) {}

Shard::~Shard() {
  base::SpinLockHolder holder(lock_);
  while (arrays_ != nullptr) {
    RecordArray* array = std::exchange(arrays_, arrays_->next);
    delete[] array->records;
    delete array;
  }
}

void Shard::provision(uint16_t size_class) {
  Span* spares[PageHeap::kSpareBatch];
  for (Span*& span : spares) span = new Span;
  RecordArray* array = nullptr;
  if (size_class != kNoClass && classes_.is_slab(size_class)) {
    array = new RecordArray{new BlockRecord[classes_.slab_blocks(size_class)], nullptr};
  }
  base::SpinLockHolder holder(lock_);
  for (Span* span : spares) heap_.add_spare(span);
  if (array != nullptr) {
    array->next = std::exchange(arrays_, array);
    array->records[0].set_next(std::exchange(spare_records_[size_class], array->records));
  }
}

void Shard::link(Bin& bin, Span* slab) {
  slab->previous = nullptr;
  slab->next = bin.open;
  if (bin.open != nullptr) bin.open->previous = slab;
  bin.open = slab;
}

void Shard::unlink(Bin& bin, Span* slab) {
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    bin.open = slab->next;
  }
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  slab->next = nullptr;
  slab->previous = nullptr;
}

BlockRecord* Shard::pop(Bin& bin, Span* slab) {
  if (slab->carved == slab->free_blocks) --bin.empty;
  BlockRecord* record = slab->free_list;
  if (record != nullptr) {
    slab->free_list = record->next();
    --slab->free_blocks;
  } else {
    const uint32_t index = slab->carved++;
    record = &slab->records[index];
    record->data = space_.page_address(slab->first_page) + index * slab->block_bytes;
    record->size_class = slab->size_class;
    record->shard = number_;
    record->set_point({});
    record->set_state(BlockRecord::kIdle);
  }
  if (slab->free_blocks == 0 && slab->carved == slab->blocks) unlink(bin, slab);
  return record;
}

BlockRecord* Shard::find_pending(const Search& search) {
  BlockRecord* before = nullptr;
  BlockRecord* record = pending_first_;
  for (int looks = 0; record != nullptr && looks < kPendingLooks; ++looks) {
    if (record->size_class == search.size_class &&
        record->point_stream.load(std::memory_order_relaxed) == search.stream) {
      if (before == nullptr) {
        pending_first_ = record->next();
      } else {
        before->set_next(record->next());
      }
      if (pending_last_ == record) pending_last_ = before;
      pending_count_.fetch_sub(1, std::memory_order_relaxed);
      return record;
    }
    before = record;
    record = record->next();
  }
  return nullptr;
}

Found Shard::find(const Search& search) {
  if (search.stream != 0 && search.size_class != kNoClass && pending_first_ != nullptr) {
    if (BlockRecord* record = find_pending(search)) return {record};
  }
  if (search.size_class != kNoClass && classes_.is_slab(search.size_class)) {
    Bin& bin = bins_[search.size_class];
    if (bin.open == nullptr) {
      if (!heap_.provisioned() || spare_records_[search.size_class] == nullptr) {
        return {nullptr, true};
      }
      const uint64_t pages = classes_.slab_pages(search.size_class);
      Span* slab = heap_.take(pages, kPageBytes, Span::Kind::kSlab);
      if (slab == nullptr) return {};
      BlockRecord* records = spare_records_[search.size_class];
      spare_records_[search.size_class] = records[0].next();
      slab->size_class = search.size_class;
      slab->block_bytes = classes_.bytes_of(search.size_class);
      slab->blocks = classes_.slab_blocks(search.size_class);
      slab->carved = 0;
      slab->free_blocks = 0;
      slab->free_list = nullptr;
      slab->records = records;
      for (uint64_t page = slab->first_page; page < slab->end_page(); ++page) {
        space_.set_span(page, slab);
      }
      link(bin, slab);
      ++bin.empty;
    }
    return {pop(bin, bin.open)};
  }
  if (!heap_.provisioned()) return {nullptr, true};
  const uint64_t pages = (search.bytes + kPageBytes - 1) / kPageBytes;
  Span* span = heap_.take(pages, search.alignment, Span::Kind::kLarge);
  if (span == nullptr) return {};
  span->size_class = search.size_class;
  span->block_bytes = span->bytes();
  BlockRecord* record = &span->own;
  record->data = space_.page_address(span->first_page);
  record->size_class = search.size_class;
  record->shard = number_;
  record->set_point({});
  record->set_state(BlockRecord::kIdle);
  return {record};
}

bool Shard::add_chunks(uint64_t first_chunk, uint64_t chunks) {
  if (!heap_.provisioned()) return false;
  space_.set_owner(first_chunk, chunks, number_);
  heap_.add(first_chunk * space_.pages_per_chunk(), chunks * space_.pages_per_chunk());
  return true;
}

void Shard::push_remote(BlockRecord* first, BlockRecord* last) {
  BlockRecord* head = remote_.load(std::memory_order_relaxed);
  do {
    last->set_next(head);
    // Release pairs with the acquire in drain_remote: what the freeing thread did to the block and
    // its record happens before whoever gets it next.
  } while (!remote_.compare_exchange_weak(head, first, std::memory_order_release,
                                          std::memory_order_relaxed));
}

void Shard::drain_remote() {
  if (!has_remote()) return;
  BlockRecord* record = remote_.exchange(nullptr, std::memory_order_acquire);
  // The list has the newest first. Turned round, so that blocks that wait for work stand in the
  // order in which they were freed.
  BlockRecord* oldest = nullptr;
  while (record != nullptr) {
    BlockRecord* next = record->next();
    record->set_next(oldest);
    oldest = record;
    record = next;
  }
  while (oldest != nullptr) {
    BlockRecord* next = oldest->next();
    take_in(oldest);
    oldest = next;
  }
}

BlockRecord* Shard::take_pending() {
  BlockRecord* list = std::exchange(pending_first_, nullptr);
  pending_last_ = nullptr;
  pending_count_.store(0, std::memory_order_relaxed);
  return list;
}

void Shard::take_in(BlockRecord* record) {
  if (record->point().empty()) {
    free_block(record);
    return;
  }
  record->set_next(nullptr);
  if (pending_last_ == nullptr) {
    pending_first_ = record;
  } else {
    pending_last_->set_next(record);
  }
  pending_last_ = record;
  pending_count_.fetch_add(1, std::memory_order_relaxed);
}

void Shard::free_block(BlockRecord* record) {
  Span* span = space_.span(space_.page_of(record->data));
  if (span->kind.load(std::memory_order_relaxed) == Span::Kind::kLarge) {
    record->set_state(BlockRecord::kUnused);
    heap_.give(span);
    return;
  }
  Bin& bin = bins_[span->size_class];
  if (span->free_blocks == 0 && span->carved == span->blocks) link(bin, span);
  record->set_next(span->free_list);
  span->free_list = record;
  ++span->free_blocks;
  if (span->carved != span->free_blocks) return;
  // One slab without a block in use is kept: a block that comes and goes costs no slab each time.
  ++bin.empty;
  if (bin.empty > 1) dissolve(bin, span);
}

void Shard::dissolve(Bin& bin, Span* slab) {
  unlink(bin, slab);
  --bin.empty;
  BlockRecord* records = slab->records;
  for (uint32_t i = 0; i < slab->carved; ++i) records[i].set_state(BlockRecord::kUnused);
  records[0].set_next(std::exchange(spare_records_[slab->size_class], records));
  slab->records = nullptr;
  slab->free_list = nullptr;
  heap_.give(slab);
}

void Shard::dissolve_idle_slabs() {
  for (uint16_t i = 0; i < classes_.slab_classes(); ++i) {
    Bin& bin = bins_[i];
    for (Span* slab = bin.open; slab != nullptr && bin.empty != 0;) {
      Span* next = slab->next;
      if (slab->carved == slab->free_blocks) dissolve(bin, slab);
      slab = next;
    }
  }
}

Span* Shard::take_idle_chunks(uint64_t chunks, bool* needs_provision) {
  *needs_provision = !heap_.provisioned();
  return *needs_provision ? nullptr : heap_.take_chunks(chunks);
}

void Shard::forget(Span* span) { heap_.remove(span); }

void Shard::put_back(Span* span) { heap_.give(span); }

}  // namespace quiesce::memory
