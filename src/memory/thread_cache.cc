#include "memory/thread_cache.h"

#include <utility>

namespace quiesce::memory {

BlockRecord* ThreadCache::take_all(uint16_t size_class, const SizeClasses& classes) {
  BlockRecord* list = std::exchange(magazines_[size_class], nullptr);
  uint64_t bytes = 0;
  for (const BlockRecord* record = list; record != nullptr; record = record->next()) {
    bytes += classes.bytes_of(size_class);
  }
  set_cached(cached() - bytes);
  return list;
}

Credit* ThreadCache::find_credit(const AccountNode* account) {
  for (uint32_t i = 0; i < kCredits; ++i) {
    if (credits_[i].account.load(std::memory_order_relaxed) == account) {
      last_credit_ = i;
      return &credits_[i];
    }
  }
  return nullptr;
}

Credit* ThreadCache::make_credit(AccountNode* account, Ledger& ledger) {
  if (Credit* found = credit(account)) return found;
  uint32_t slot = oldest_credit_;
  for (uint32_t i = 0; i < kCredits; ++i) {
    if (credits_[i].account.load(std::memory_order_relaxed) == nullptr) {
      slot = i;
      break;
    }
  }
  Credit& made = credits_[slot];
  if (made.account.load(std::memory_order_relaxed) != nullptr) {
    ledger.detach(made);
    oldest_credit_ = (oldest_credit_ + 1) % kCredits;
  }
  if (!ledger.attach(made, account)) return nullptr;
  last_credit_ = slot;
  return &made;
}

void ThreadCache::give_back_credits(Ledger& ledger) {
  for (Credit& credit : credits_) {
    if (credit.account.load(std::memory_order_relaxed) != nullptr) ledger.detach(credit);
  }
}

void ThreadCache::give_back_credit(const AccountNode* account, Ledger& ledger) {
  for (Credit& credit : credits_) {
    if (credit.account.load(std::memory_order_relaxed) == account) ledger.detach(credit);
  }
}

void ThreadCache::forget_lows(const AccountNode* account, Ledger& ledger) {
  for (Credit& credit : credits_) {
    if (!ledger.is_below(credit.account.load(std::memory_order_relaxed), account)) continue;
    credit.low.store(credit.bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

}  // namespace quiesce::memory
