#include "memory/page_heap.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace quiesce::memory {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

void set_kind(Span* span, Span::Kind kind) {
  // Relaxed: the page map's release store publishes the span; lookups without the lock check the
  // record's word before they believe it.
  span->kind.store(kind, std::memory_order_relaxed);
}

}  // namespace

PageHeap::~PageHeap() {
  for (Span* list : {all_, spare_list_}) {
    while (list != nullptr) {
      Span* next = list == all_ ? list->all_next : list->next;
      if (list == all_) all_ = next;
      delete list;
      list = next;
    }
  }
}

void PageHeap::add_spare(Span* span) {
  span->next = std::exchange(spare_list_, span);
  ++spares_;
}

Span* PageHeap::take_spare() {
  Span* span = spare_list_;
  spare_list_ = span->next;
  --spares_;
  span->next = nullptr;
  span->previous = nullptr;
  span->shard = shard_;
  return span;
}

void PageHeap::retire(Span* span) {
  unlink_all(span);
  set_kind(span, Span::Kind::kSpare);
  add_spare(span);
}

void PageHeap::link_all(Span* span) {
  span->all_previous = nullptr;
  span->all_next = all_;
  if (all_ != nullptr) all_->all_previous = span;
  all_ = span;
}

void PageHeap::unlink_all(Span* span) {
  if (span->all_previous != nullptr) {
    span->all_previous->all_next = span->all_next;
  } else {
    all_ = span->all_next;
  }
  if (span->all_next != nullptr) span->all_next->all_previous = span->all_previous;
}

uint32_t PageHeap::bucket_of(uint64_t pages) {
  const uint32_t step = step_of(pages);
  return units_of_step(step) == pages ? step : step - 1;
}

void PageHeap::insert(Span* span) {
  const uint32_t bucket = std::min(bucket_of(span->pages), kBuckets - 1);
  span->previous = nullptr;
  span->next = buckets_[bucket];
  if (span->next != nullptr) span->next->previous = span;
  buckets_[bucket] = span;
  bitmap_[bucket / 64] |= uint64_t{1} << (bucket % 64);
}

void PageHeap::extract(Span* span) {
  const uint32_t bucket = std::min(bucket_of(span->pages), kBuckets - 1);
  if (span->previous != nullptr) {
    span->previous->next = span->next;
  } else {
    buckets_[bucket] = span->next;
    if (span->next == nullptr) bitmap_[bucket / 64] &= ~(uint64_t{1} << (bucket % 64));
  }
  if (span->next != nullptr) span->next->previous = span->previous;
  span->next = nullptr;
  span->previous = nullptr;
}

void PageHeap::map_ends(Span* span) {
  space_.set_span(span->first_page, span);
  space_.set_span(span->end_page() - 1, span);
}

uint64_t PageHeap::aligned_first(const AddressSpace& space, const Span* span, uint64_t pages,
                                 size_t alignment) {
  uint64_t first = span->first_page;
  if (alignment > kPageBytes) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(space.page_address(first));
    first += ((at + alignment - 1) / alignment * alignment - at) / kPageBytes;
  }
  return first + pages <= span->end_page() ? first : kNone;
}

void PageHeap::carve(Span* span, uint64_t first, uint64_t pages) {
  if (const uint64_t head = first - span->first_page; head != 0) {
    Span* rest = take_spare();
    rest->first_page = span->first_page;
    rest->pages = head;
    set_kind(rest, Span::Kind::kFree);
    link_all(rest);
    map_ends(rest);
    insert(rest);
  }
  if (const uint64_t tail = span->end_page() - first - pages; tail != 0) {
    Span* rest = take_spare();
    rest->first_page = first + pages;
    rest->pages = tail;
    set_kind(rest, Span::Kind::kFree);
    link_all(rest);
    map_ends(rest);
    insert(rest);
  }
  span->first_page = first;
  span->pages = pages;
}

Span* PageHeap::take(uint64_t pages, size_t alignment, Span::Kind kind) {
  // Buckets from here on hold only spans that are large enough; the one below may hold some. The
  // smallest that fits is looked for in the bucket below first, since it wastes least.
  Span* best = nullptr;
  uint64_t best_first = kNone;
  for (uint32_t bucket = std::min(bucket_of(pages), kBuckets - 1);
       bucket < kBuckets && best == nullptr; ++bucket) {
    const uint64_t word = bitmap_[bucket / 64] >> (bucket % 64);
    if (word == 0) {
      bucket |= 63;
      continue;
    }
    bucket += static_cast<uint32_t>(std::countr_zero(word));
    for (Span* span = buckets_[bucket]; span != nullptr; span = span->next) {
      if (span->pages < pages || (best != nullptr && span->pages >= best->pages)) continue;
      const uint64_t first = aligned_first(space_, span, pages, alignment);
      if (first == kNone) continue;
      best = span;
      best_first = first;
      if (span->pages == pages) break;
    }
  }
  if (best == nullptr) return nullptr;
  extract(best);
  carve(best, best_first, pages);
  set_kind(best, kind);
  map_ends(best);
  return best;
}

Span* PageHeap::neighbour(uint64_t page) {
  if (page >= space_.bytes() / kPageBytes) return nullptr;
  if (space_.owner(page / space_.pages_per_chunk()) != shard_) return nullptr;
  Span* span = space_.span(page);
  if (span == nullptr) return nullptr;
  return span->kind.load(std::memory_order_relaxed) == Span::Kind::kFree ? span : nullptr;
}

void PageHeap::give(Span* span) {
  if (Span* before = span->first_page == 0 ? nullptr : neighbour(span->first_page - 1)) {
    extract(before);
    span->first_page = before->first_page;
    span->pages += before->pages;
    retire(before);
  }
  if (Span* after = neighbour(span->end_page())) {
    extract(after);
    span->pages += after->pages;
    retire(after);
  }
  set_kind(span, Span::Kind::kFree);
  map_ends(span);
  insert(span);
}

void PageHeap::add(uint64_t first_page, uint64_t pages) {
  Span* span = take_spare();
  span->first_page = first_page;
  span->pages = pages;
  link_all(span);
  give(span);
}

Span* PageHeap::take_chunks(uint64_t chunks) {
  const uint64_t per_chunk = space_.pages_per_chunk();
  Span* best = nullptr;
  uint64_t best_chunks = 0;
  // Spans with a whole chunk have at least a chunk's pages.
  for (uint32_t bucket = bucket_of(per_chunk); bucket < kBuckets; ++bucket) {
    for (Span* span = buckets_[bucket]; span != nullptr; span = span->next) {
      const uint64_t first = (span->first_page + per_chunk - 1) / per_chunk;
      const uint64_t end = span->end_page() / per_chunk;
      if (end > first && end - first > best_chunks) {
        best = span;
        best_chunks = end - first;
      }
    }
  }
  if (best == nullptr) return nullptr;
  const uint64_t first = (best->first_page + per_chunk - 1) / per_chunk;
  // From the end, so that low addresses stay in use.
  const uint64_t taken = std::min(chunks, best_chunks);
  extract(best);
  carve(best, (first + best_chunks - taken) * per_chunk, taken * per_chunk);
  set_kind(best, Span::Kind::kReleasing);
  map_ends(best);
  return best;
}

void PageHeap::remove(Span* span) {
  // Entries between the ends may be stale all the same; a lookup asks the span whether it holds the
  // page.
  space_.set_span(span->first_page, nullptr);
  space_.set_span(span->end_page() - 1, nullptr);
  const uint64_t per_chunk = space_.pages_per_chunk();
  space_.set_owner(span->first_page / per_chunk, span->pages / per_chunk, AddressSpace::kNobody);
  retire(span);
}

}  // namespace quiesce::memory
