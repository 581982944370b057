#include "memory/account.h"

#include <utility>

#include "memory/allocator.h"
#include "memory/allocator_core.h"

namespace quiesce::memory {

Account Account::open(Allocator& allocator, const Account* parent, AccountLevel level,
                      std::string_view name, uint64_t limit) {
  Ledger& ledger = allocator.core_->ledger_;
  Account account;
  if (ledger.core().domain_.forked()) return account;
  account.node_ = ledger.open(parent == nullptr || parent->empty() ? &ledger.root() : parent->node_,
                              level, name, limit);
  return account;
}

uint64_t Account::id() const { return node_ == nullptr ? 0 : node_->id; }
AccountLevel Account::level() const {
  return node_ == nullptr ? AccountLevel::kDevice : node_->level;
}

std::string Account::name() const {
  uint64_t id = 0;
  if (node_ == nullptr || node_->ledger->core().domain_.forked()) return {};
  return node_->ledger->name_of(node_, &id);
}

AccountFigures Account::figures() const {
  return node_ == nullptr ? AccountFigures{} : node_->ledger->core().account_figures(node_);
}

uint64_t Account::charged() const {
  return node_ == nullptr ? 0 : node_->charged.load(std::memory_order_relaxed);
}

void Account::reset_peak() {
  if (node_ != nullptr) node_->ledger->core().reset_account_peak(node_);
}

void Account::set_limit(uint64_t limit) {
  if (node_ != nullptr && !node_->ledger->core().domain_.forked()) {
    node_->ledger->set_limit(node_, limit);
  }
}

AccountClosed Account::close() {
  AccountClosed closed;
  if (node_ == nullptr) return closed;
  AccountNode* node = std::exchange(node_, nullptr);
  Ledger& ledger = *node->ledger;
  // In a forked child a lock may be held by a thread that the child does not have.
  if (ledger.core().domain_.forked()) return closed;
  // No thread takes credit of it from here on; those that have some give it back.
  if (ledger.close(node)) return closed;
  ledger.core().recall_account(node);
  closed.bytes = node->charged.load(std::memory_order_relaxed);
  if (closed.bytes != 0) closed.holders = ledger.core().holders_of(node);
  ledger.release(node);
  return closed;
}

void Account::reset() {
  if (node_ != nullptr) close();
}

}  // namespace quiesce::memory
