#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/allocator_core.h"

namespace quiesce {

double MemorySnapshot::fragmentation() const {
  if (table.cached == 0) return 0;
  return 1.0 - static_cast<double>(std::min(largest_cached, table.cached)) /
                   static_cast<double>(table.cached);
}

std::string MemorySnapshot::to_string() const {
  std::string text = absl::StrFormat(
      "%s: live %d + pending %d + cached %d + slack %d + outside %d = total %d - free %d\n", device,
      table.live, table.pending, table.cached, table.slack, table.outside, table.total, table.free);
  absl::StrAppendFormat(&text,
                        "  largest cached %d, largest satisfiable %d, fragmentation %.0f %%%s\n",
                        largest_cached, largest_satisfiable, 100 * fragmentation(),
                        limit == 0 ? "" : absl::StrFormat(", limit %d", limit));
  const size_t shown = std::min<size_t>(holders.size(), 8);
  for (size_t i = 0; i < shown; ++i) {
    const MemoryHolder& holder = holders[i];
    absl::StrAppendFormat(&text, "  %12d bytes in %d blocks: %s \"%s\" (%s:%d)\n", holder.bytes,
                          holder.blocks, holder.session, holder.label, holder.where.base_name(),
                          holder.where.line());
  }
  if (shown < holders.size()) {
    uint64_t rest = 0;
    for (size_t i = shown; i < holders.size(); ++i) rest += holders[i].bytes;
    absl::StrAppendFormat(&text, "  %12d bytes of %d others\n", rest, holders.size() - shown);
  }
  return text;
}

std::string TrimReport::to_string() const {
  std::string text = absl::StrFormat("released %d, reserved %d", released, reserved);
  if (kept_live != 0) absl::StrAppendFormat(&text, "; kept %d beside live blocks", kept_live);
  if (kept_pending != 0) absl::StrAppendFormat(&text, "; kept %d for device work", kept_pending);
  if (kept_wanted != 0) absl::StrAppendFormat(&text, "; kept %d idle", kept_wanted);
  if (kept_failed != 0) absl::StrAppendFormat(&text, "; %d refused by the driver", kept_failed);
  return text;
}

namespace memory {
namespace {

// What a walk through the records finds of one live block.
struct LiveBlock {
  BlockRecord::Facts facts;
  uint64_t bytes;
};

std::vector<MemoryHolder> group(const std::vector<LiveBlock>& blocks, Ledger& ledger) {
  struct Key {
    uint64_t account;
    std::string label;
    std::string file;
    int32_t line;
    bool operator<(const Key& other) const {
      return std::tie(account, label, file, line) <
             std::tie(other.account, other.label, other.file, other.line);
    }
  };
  std::map<const AccountNode*, std::pair<uint64_t, std::string>> names;
  std::map<Key, MemoryHolder> groups;
  for (const LiveBlock& block : blocks) {
    const BlockRecord::Facts& facts = block.facts;
    auto [name, fresh] = names.try_emplace(facts.account);
    if (fresh) name->second.second = ledger.name_of(facts.account, &name->second.first);
    MemoryHolder& holder = groups[{name->second.first, facts.label, facts.file, facts.line}];
    if (holder.blocks == 0) {
      holder.session = name->second.second;
      holder.account = name->second.first;
      holder.label = facts.label;
      holder.where = SourceLocation::current(facts.file, facts.line);
    }
    ++holder.blocks;
    holder.bytes += block.bytes;
  }
  std::vector<MemoryHolder> holders;
  for (auto& [key, holder] : groups) holders.push_back(std::move(holder));
  std::stable_sort(holders.begin(), holders.end(),
                   [](const MemoryHolder& a, const MemoryHolder& b) { return a.bytes > b.bytes; });
  return holders;
}

}  // namespace

std::vector<MemoryHolder> AllocatorCore::holders_of(const AccountNode* account) {
  std::vector<LiveBlock> blocks;
  for (auto& shard : shards_) {
    base::SpinLockHolder holder(shard->lock());
    for (Span* span = shard->all_spans(); span != nullptr; span = span->all_next) {
      visit_blocks(*span, [&](const BlockRecord& record) {
        BlockRecord::Facts facts;
        if (record.live_facts(&facts)) blocks.push_back({facts, span->block_bytes});
      });
    }
  }
  if (account != nullptr) {
    std::erase_if(blocks, [&](const LiveBlock& block) {
      return !ledger_.is_below(block.facts.account, account);
    });
  }
  return group(blocks, ledger_);
}

MemorySnapshot AllocatorCore::snapshot() {
  MemorySnapshot result;
  result.device = device_.name();
  if (domain_.forked()) return result;
  result.limit = options_.limit;
  std::vector<LiveBlock> blocks;
  std::vector<std::pair<Point, uint64_t>> waiting;
  uint64_t idle_chunk_bytes = 0;
  const uint64_t per_chunk = space_->pages_per_chunk();
  for (auto& shard : shards_) {
    base::SpinLockHolder holder(shard->lock());
    shard->drain_remote();
    for (Span* span = shard->all_spans(); span != nullptr; span = span->all_next) {
      // Each byte of the span goes into one column: the blocks' by their state at one look, the
      // rest of a slab that no block covers is slack.
      uint64_t rest = span->bytes();
      bool has_free_block = false;
      visit_blocks(*span, [&](const BlockRecord& record) {
        const uint64_t bytes = span->block_bytes;
        rest -= bytes;
        BlockRecord::Facts facts;
        if (record.live_facts(&facts)) {
          const uint64_t slack = std::min<uint64_t>(facts.slack, bytes);
          result.table.live += bytes - slack;
          result.table.slack += slack;
          ++result.live_blocks;
          blocks.push_back({facts, bytes});
        } else if (const Point point = record.point(); !point.empty()) {
          waiting.emplace_back(point, bytes);
        } else {
          result.table.cached += bytes;
          has_free_block = true;
        }
      });
      switch (span->kind.load(std::memory_order_relaxed)) {
        case Span::Kind::kSlab: {
          const uint64_t uncarved = uint64_t{span->blocks - span->carved} * span->block_bytes;
          result.table.cached += uncarved;
          result.table.slack += rest - uncarved;
          has_free_block = has_free_block || uncarved != 0;
          if (has_free_block) {
            result.largest_cached = std::max<uint64_t>(result.largest_cached, span->block_bytes);
          }
          break;
        }
        case Span::Kind::kLarge:
          if (has_free_block) {
            result.largest_cached = std::max<uint64_t>(result.largest_cached, span->block_bytes);
          }
          break;
        default: {
          result.table.cached += rest;
          result.largest_cached = std::max(result.largest_cached, rest);
          const uint64_t first = (span->first_page + per_chunk - 1) / per_chunk;
          const uint64_t end = span->end_page() / per_chunk;
          if (end > first) idle_chunk_bytes += (end - first) * space_->chunk_bytes();
        }
      }
    }
  }
  // The device is asked without a lock.
  for (const auto& [point, bytes] : waiting) {
    (device_.is_complete(point) ? result.table.cached : result.table.pending) += bytes;
  }
  const uint64_t reserved = result.table.reserved();
  const device::DriverMemory driver = device_.memory().memory();
  const uint64_t ours = device_.memory().committed_bytes();
  result.table.total = driver.total;
  const uint64_t used = driver.total - std::min(driver.total, driver.free);
  result.table.outside = used - std::min(used, ours);
  result.table.free = driver.total - std::min(driver.total, result.table.outside + reserved);

  uint64_t growth = result.table.free;
  if (options_.limit != 0) {
    growth = std::min(growth, options_.limit - std::min(options_.limit, reserved));
  }
  growth = (growth + idle_chunk_bytes) / space_->chunk_bytes() * space_->chunk_bytes();
  result.largest_satisfiable = std::max(result.largest_cached, growth);
  result.holders = group(blocks, ledger_);
  return result;
}

std::vector<Ledger::Held> AllocatorCore::credits() {
  std::vector<Ledger::Held> held;
  base::MutexLock lock(caches_mutex_);
  for (ThreadCache* cache = caches_; cache != nullptr; cache = cache->next) {
    for (uint32_t i = 0; i < ThreadCache::kCredits; ++i) {
      const Credit& credit = cache->credit_at(i);
      const AccountNode* account = credit.account.load(std::memory_order_relaxed);
      if (account == nullptr) continue;
      held.push_back({account, credit.bytes.load(std::memory_order_relaxed),
                      credit.low.load(std::memory_order_relaxed)});
    }
  }
  return held;
}

AccountFigures AllocatorCore::account_figures(const AccountNode* account) {
  // A lock may have been held at the fork, by a thread that the child does not have.
  if (domain_.forked()) return {};
  return ledger_.figures(account, credits());
}

void AllocatorCore::reset_account_peak(AccountNode* account) {
  if (domain_.forked()) return;
  {
    base::MutexLock lock(caches_mutex_);
    for (ThreadCache* cache = caches_; cache != nullptr; cache = cache->next) {
      base::SpinLockHolder holder(cache->latch());
      cache->forget_lows(account, ledger_);
    }
  }
  ledger_.reset_peak(account, credits());
}

AllocatorFigures AllocatorCore::figures() {
  const AccountFigures root = account_figures(&ledger_.root());
  AllocatorFigures figures;
  figures.current = root.current;
  figures.peak = root.peak;
  figures.reserved = reserved_.load(std::memory_order_relaxed);
  figures.peak_reserved = peak_reserved_.load(std::memory_order_relaxed);
  figures.released = released_.load(std::memory_order_relaxed);
  figures.limit = options_.limit;
  return figures;
}

void AllocatorCore::reset_peak() {
  reset_account_peak(&ledger_.root());
  peak_reserved_.store(reserved_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace memory
}  // namespace quiesce
