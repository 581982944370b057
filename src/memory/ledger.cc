#include "memory/ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"

namespace quiesce::memory {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

uint64_t limit_of(const AccountNode* account) {
  const uint64_t limit = account->limit.load(std::memory_order_relaxed);
  return limit == 0 ? kNoLimit : limit;
}

bool below(const AccountNode* account, const AccountNode* ancestor) {
  for (; account != nullptr; account = account->parent) {
    if (account == ancestor) return true;
  }
  return false;
}

}  // namespace

const char* account_level_name(AccountLevel level) {
  switch (level) {
    case AccountLevel::kDevice:
      return "device";
    case AccountLevel::kRuntime:
      return "runtime";
    case AccountLevel::kSession:
      return "session";
    case AccountLevel::kIncarnation:
      return "incarnation";
  }
  return "account";
}

Ledger::Ledger(AllocatorCore& core, std::string_view device, uint64_t largest_credit)
    : core_(core), largest_credit_(largest_credit) {
  root_ = open(nullptr, AccountLevel::kDevice, device, 0);
}

Ledger::~Ledger() {
  base::SpinLockHolder holder(lock_);
  while (slabs_ != nullptr) delete std::exchange(slabs_, slabs_->next);
}

AccountNode* Ledger::take_node(NodeSlab* fresh) {
  if (fresh != nullptr) {
    for (AccountNode& node : fresh->nodes) node.next_free = std::exchange(pool_, &node);
    fresh->next = std::exchange(slabs_, fresh);
  }
  AccountNode* node = pool_;
  if (node != nullptr) pool_ = std::exchange(node->next_free, nullptr);
  return node;
}

AccountNode* Ledger::open(AccountNode* parent, AccountLevel level, std::string_view name,
                          uint64_t limit) {
  std::string text(name);
  for (NodeSlab* fresh = nullptr;; fresh = new NodeSlab) {
    base::SpinLockHolder holder(lock_);
    AccountNode* node = take_node(fresh);
    if (node == nullptr) continue;
    node->ledger = this;
    node->parent = parent;
    node->next_sibling = nullptr;
    node->previous_sibling = nullptr;
    node->first_child = nullptr;
    node->id = base::next_id();
    node->level = level;
    node->closed = false;
    node->entries = 0;
    node->name.swap(text);  // the old text is freed after the lock
    node->limit.store(limit, std::memory_order_relaxed);
    node->charged.store(0, std::memory_order_relaxed);
    node->lent = 0;
    node->peak = 0;
    if (parent != nullptr) {
      node->next_sibling = parent->first_child;
      if (parent->first_child != nullptr) parent->first_child->previous_sibling = node;
      parent->first_child = node;
    }
    set_bounds(node);
    ++open_;
    return node;
  }
}

void Ledger::set_bounds(AccountNode* account) {
  uint64_t limit = kNoLimit;
  for (const AccountNode* node = account; node != nullptr; node = node->parent) {
    limit = std::min(limit, limit_of(node));
  }
  const uint64_t bound =
      limit == kNoLimit
          ? largest_credit_
          : std::clamp(limit / 16, std::min(kCreditQuantum, largest_credit_), largest_credit_);
  account->credit_bound.store(bound, std::memory_order_relaxed);
  for (AccountNode* child = account->first_child; child != nullptr; child = child->next_sibling) {
    set_bounds(child);
  }
}

bool Ledger::close(AccountNode* account) {
  base::SpinLockHolder holder(lock_);
  account->closed = true;
  if (done(account)) {
    free_if_done(account);
    return true;
  }
  account->held = true;
  return false;
}

void Ledger::release(AccountNode* account) {
  base::SpinLockHolder holder(lock_);
  account->held = false;
  free_if_done(account);
}

bool Ledger::done(const AccountNode* account) {
  return account->closed && !account->held && account->entries == 0 &&
         account->first_child == nullptr && account->charged.load(std::memory_order_relaxed) == 0;
}

void Ledger::free_if_done(AccountNode* account) {
  while (account != nullptr && done(account)) {
    AccountNode* parent = account->parent;
    if (account->previous_sibling != nullptr) {
      account->previous_sibling->next_sibling = account->next_sibling;
    } else if (parent != nullptr) {
      parent->first_child = account->next_sibling;
    }
    if (account->next_sibling != nullptr) {
      account->next_sibling->previous_sibling = account->previous_sibling;
    }
    account->id = 0;
    account->closed = false;
    account->parent = nullptr;
    account->next_free = pool_;
    pool_ = account;
    --open_;
    account = parent;  // a closed parent may have waited for its child
  }
}

void Ledger::set_limit(AccountNode* account, uint64_t limit) {
  base::SpinLockHolder holder(lock_);
  account->limit.store(limit, std::memory_order_relaxed);
  set_bounds(account);
}

bool Ledger::fits(AccountNode* account, uint64_t bytes, Refusal* refusal) const {
  for (AccountNode* node = account; node != nullptr; node = node->parent) {
    const uint64_t limit = limit_of(node);
    const uint64_t charged = node->charged.load(std::memory_order_relaxed);
    if (charged <= limit && bytes <= limit - charged) continue;
    if (refusal != nullptr) *refusal = {node, node->level, limit, charged};
    return false;
  }
  return true;
}

void Ledger::add(AccountNode* account, uint64_t bytes) {
  for (AccountNode* node = account; node != nullptr; node = node->parent) {
    // Only the lock's holder writes; relaxed stores let figures be read without it.
    node->charged.store(node->charged.load(std::memory_order_relaxed) + bytes,
                        std::memory_order_relaxed);
  }
}

void Ledger::subtract(AccountNode* account, uint64_t bytes) {
  for (AccountNode* node = account; node != nullptr; node = node->parent) {
    node->charged.store(node->charged.load(std::memory_order_relaxed) - bytes,
                        std::memory_order_relaxed);
  }
}

void Ledger::note_low(Credit& credit) {
  const uint64_t low = credit.low.load(std::memory_order_relaxed);
  for (AccountNode* node = credit.account.load(std::memory_order_relaxed); node != nullptr;
       node = node->parent) {
    const uint64_t charged = node->charged.load(std::memory_order_relaxed);
    const uint64_t ready = node->lent - credit.synced + low;
    if (charged > ready) node->peak = std::max(node->peak, charged - ready);
  }
}

void Ledger::sync(Credit& credit, uint64_t bytes) {
  for (AccountNode* node = credit.account.load(std::memory_order_relaxed); node != nullptr;
       node = node->parent) {
    node->lent = node->lent - credit.synced + bytes;
  }
  credit.synced = bytes;
  credit.bytes.store(bytes, std::memory_order_relaxed);
  credit.low.store(bytes, std::memory_order_relaxed);
}

bool Ledger::draw(Credit& credit, uint64_t bytes, Refusal* refusal) {
  base::SpinLockHolder holder(lock_);
  AccountNode* account = credit.account.load(std::memory_order_relaxed);
  const uint64_t have = credit.bytes.load(std::memory_order_relaxed);
  if (have >= bytes) return true;
  const uint64_t missing = bytes - have;
  const uint64_t wanted =
      tight() ? missing : (missing + kCreditQuantum - 1) / kCreditQuantum * kCreditQuantum;
  note_low(credit);
  for (uint64_t amount : {wanted, missing}) {
    if (amount < missing || !fits(account, amount, amount == missing ? refusal : nullptr)) continue;
    add(account, amount);
    sync(credit, have + amount);
    return true;
  }
  return false;
}

bool Ledger::attach(Credit& credit, AccountNode* account) {
  base::SpinLockHolder holder(lock_);
  if (account->closed) return false;
  ++account->entries;
  credit.account.store(account, std::memory_order_relaxed);
  credit.bytes.store(0, std::memory_order_relaxed);
  credit.low.store(0, std::memory_order_relaxed);
  credit.synced = 0;
  return true;
}

void Ledger::give_back(Credit& credit, uint64_t bytes, uint64_t keep) {
  base::SpinLockHolder holder(lock_);
  const uint64_t have = credit.bytes.load(std::memory_order_relaxed) + bytes;
  note_low(credit);
  const uint64_t excess = have > keep ? have - keep : 0;
  subtract(credit.account.load(std::memory_order_relaxed), excess);
  sync(credit, have - excess);
}

void Ledger::detach(Credit& credit) {
  base::SpinLockHolder holder(lock_);
  AccountNode* account = credit.account.load(std::memory_order_relaxed);
  note_low(credit);
  subtract(account, credit.bytes.load(std::memory_order_relaxed));
  sync(credit, 0);
  credit.account.store(nullptr, std::memory_order_relaxed);
  --account->entries;
  free_if_done(account);
}

bool Ledger::charge(AccountNode* account, uint64_t bytes, Refusal* refusal) {
  base::SpinLockHolder holder(lock_);
  if (!fits(account, bytes, refusal)) return false;
  add(account, bytes);
  for (AccountNode* node = account; node != nullptr; node = node->parent) {
    const uint64_t charged = node->charged.load(std::memory_order_relaxed);
    if (charged > node->lent) node->peak = std::max(node->peak, charged - node->lent);
  }
  return true;
}

void Ledger::uncharge(AccountNode* account, uint64_t bytes) {
  base::SpinLockHolder holder(lock_);
  subtract(account, bytes);
  free_if_done(account);
}

AccountFigures Ledger::figures(const AccountNode* account, const std::vector<Held>& credits) {
  base::SpinLockHolder holder(lock_);
  AccountFigures figures;
  figures.charged = account->charged.load(std::memory_order_relaxed);
  figures.limit = account->limit.load(std::memory_order_relaxed);
  uint64_t ready = 0;
  uint64_t low = 0;
  for (const Held& held : credits) {
    if (!below(held.account, account)) continue;
    ready += held.bytes;
    low += held.low;
  }
  figures.current = figures.charged - std::min(figures.charged, ready);
  figures.peak =
      std::max({account->peak, figures.current, figures.charged - std::min(figures.charged, low)});
  return figures;
}

void Ledger::reset_peak(AccountNode* account, const std::vector<Held>& credits) {
  base::SpinLockHolder holder(lock_);
  uint64_t ready = 0;
  for (const Held& held : credits) {
    if (below(held.account, account)) ready += held.bytes;
  }
  const uint64_t charged = account->charged.load(std::memory_order_relaxed);
  account->peak = charged - std::min(charged, ready);
}

bool Ledger::is_below(const AccountNode* account, const AccountNode* ancestor) {
  base::SpinLockHolder holder(lock_);
  return below(account, ancestor);
}

uint64_t Ledger::accounts() const {
  base::SpinLockHolder holder(lock_);
  return open_;
}

std::string Ledger::name_locked(const AccountNode* account) const {
  const bool closed = account->closed;
  const AccountNode* named = account;
  while (named->name.empty() && named->parent != nullptr) named = named->parent;
  return closed ? absl::StrCat(named->name, " (closed)") : named->name;
}

std::string Ledger::name_of(const AccountNode* account, uint64_t* id) {
  base::SpinLockHolder holder(lock_);
  *id = account->id;
  return account->id == 0 ? std::string() : name_locked(account);
}

}  // namespace quiesce::memory
