#include <algorithm>
#include <limits>

#include "base/process.h"
#include "memory/allocator_core.h"
#include "memory/sanitizer.h"

namespace quiesce::memory {

uint64_t AllocatorCore::release_idle(uint64_t bytes, uint64_t* failed) {
  const uint64_t chunk = space_->chunk_bytes();
  uint64_t released = 0;
  for (auto& shard : shards_) {
    {
      base::SpinLockHolder holder(shard->lock());
      shard->drain_remote();
      shard->dissolve_idle_slabs();
    }
    // Spans that the driver refused, put back when all others have been tried.
    Span* refused = nullptr;
    while (released < bytes) {
      bool needs_provision = false;
      Span* span;
      {
        base::SpinLockHolder holder(shard->lock());
        span = shard->take_idle_chunks((bytes - released + chunk - 1) / chunk, &needs_provision);
      }
      if (needs_provision) {
        shard->provision(kNoClass);
        continue;
      }
      if (span == nullptr) break;
      const uint64_t size = span->bytes();
      void* at = space_->page_address(span->first_page);
      if (!device_.memory().decommit(at, size).ok()) {
        *failed += size;
        span->next = refused;
        refused = span;
        continue;
      }
      unhide(at, size);
      const uint64_t first = span->first_page / space_->pages_per_chunk();
      {
        base::SpinLockHolder holder(shard->lock());
        shard->forget(span);
      }
      space_->give(first, size / chunk);
      reserved_.fetch_sub(size);
      released_.fetch_add(size, std::memory_order_relaxed);
      released += size;
    }
    base::SpinLockHolder holder(shard->lock());
    while (refused != nullptr) {
      Span* next = refused->next;
      shard->put_back(refused);
      refused = next;
    }
  }
  return released;
}

TrimReport AllocatorCore::trim(uint64_t bytes) {
  TrimReport report;
  if (domain_.forked()) return report;
  recall();
  if (keeps_points_) poll_pending(/*wait=*/true, 0, nullptr);
  {
    base::MutexLock lock(driver_mutex_);
    report.released = release_idle(bytes == 0 ? std::numeric_limits<uint64_t>::max() / 2 : bytes,
                                   &report.kept_failed);
  }

  // Why the rest stays, chunk by chunk: each is counted once, under its gravest reason.
  const uint64_t per_chunk = space_->pages_per_chunk();
  const uint64_t chunk_bytes = space_->chunk_bytes();
  for (auto& shard : shards_) {
    std::vector<uint64_t> live_chunks;
    std::vector<uint64_t> pending_chunks;
    uint64_t pages = 0;
    {
      base::SpinLockHolder holder(shard->lock());
      for (Span* span = shard->all_spans(); span != nullptr; span = span->all_next) {
        pages += span->pages;
        bool live = false;
        bool pending = false;
        visit_blocks(*span, [&](const BlockRecord& record) {
          live = live || record.state() == BlockRecord::kLive;
          pending = pending || (record.state() == BlockRecord::kIdle && !record.point().empty());
        });
        if (!live && !pending) continue;
        for (uint64_t i = span->first_page / per_chunk; i <= (span->end_page() - 1) / per_chunk;
             ++i) {
          (live ? live_chunks : pending_chunks).push_back(i);
        }
      }
    }
    auto unique = [](std::vector<uint64_t>& chunks) {
      std::sort(chunks.begin(), chunks.end());
      chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
    };
    unique(live_chunks);
    std::erase_if(pending_chunks, [&](uint64_t chunk) {
      return std::binary_search(live_chunks.begin(), live_chunks.end(), chunk);
    });
    unique(pending_chunks);
    report.kept_live += live_chunks.size() * chunk_bytes;
    report.kept_pending += pending_chunks.size() * chunk_bytes;
    report.kept_wanted +=
        pages * kPageBytes - (live_chunks.size() + pending_chunks.size()) * chunk_bytes;
  }
  report.kept_wanted -= std::min(report.kept_wanted, report.kept_failed);
  report.reserved = reserved_.load(std::memory_order_relaxed);
  return report;
}

}  // namespace quiesce::memory
