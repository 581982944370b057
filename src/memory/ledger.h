#ifndef QUIESCE_MEMORY_LEDGER_H_
#define QUIESCE_MEMORY_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/spin_lock.h"
#include "memory/account.h"
#include "quiesce/memory_figures.h"

namespace quiesce::memory {

class AllocatorCore;
class Ledger;

// A node of the ledger. Kept in a pool that lives as long as the ledger, so that a snapshot may
// look at a node that has just been closed. The ledger's lock guards everything but the atomics'
// reading.
struct AccountNode {
  Ledger* ledger = nullptr;
  AccountNode* parent = nullptr;
  AccountNode* next_sibling = nullptr;
  AccountNode* previous_sibling = nullptr;
  AccountNode* first_child = nullptr;
  AccountNode* next_free = nullptr;
  uint64_t id = 0;  // 0: in the pool
  AccountLevel level = AccountLevel::kDevice;
  bool closed = false;
  bool held = false;     // by the close() that is looking at what it holds
  uint32_t entries = 0;  // threads that keep credit of it
  std::string name;      // empty: the parent's
  std::atomic<uint64_t> limit{0};
  std::atomic<uint64_t> charged{0};
  // Credit that threads held when they last came to the ledger, in it and below; charged - lent is
  // what was in live blocks then.
  uint64_t lent = 0;
  uint64_t peak = 0;
  // Credit that one thread may keep of it: a share of the tightest limit above it.
  std::atomic<uint64_t> credit_bound{0};
};

// Credit of one thread on one account: bytes that are charged and not in a live block. Written by
// its thread under its latch; read by anyone.
struct Credit {
  std::atomic<AccountNode*> account{nullptr};
  std::atomic<uint64_t> bytes{0};
  // The least there was since `synced`: when most was in live blocks.
  std::atomic<uint64_t> low{0};
  uint64_t synced = 0;  // part of the account's `lent`
};

// The limit that refused a charge.
struct Refusal {
  const AccountNode* account = nullptr;
  AccountLevel level = AccountLevel::kDevice;
  uint64_t limit = 0;
  uint64_t charged = 0;
};

// The accounts of one allocator. Owned by it. Thread-safe; one lock, a leaf, held for a walk from
// an account to the root.
//
// 1. charged <= limit at every level at every instant (a limit lowered below what is charged counts
//    from the next charge): all levels are checked before one of them is changed, so no charge is
//    undone, and none is refused because of another one that will be.
// 2. charged of an account = live blocks and credits on it and below it.
// 3. A node goes back to the pool when it is closed, nothing is charged to it, no thread has credit
// of
//    it and it has no child.
class Ledger {
 public:
  static constexpr uint64_t kCreditQuantum = 64 << 10;

  Ledger(AllocatorCore& core, std::string_view device, uint64_t largest_credit);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  AccountNode& root() { return *root_; }
  AllocatorCore& core() { return core_; }

  AccountNode* open(AccountNode* parent, AccountLevel level, std::string_view name, uint64_t limit);
  // No thread takes credit of the account any more. True when it could be taken out at once;
  // otherwise it stays at least until release(), and as long as something is charged to it.
  bool close(AccountNode* account);
  void release(AccountNode* account);
  void set_limit(AccountNode* account, uint64_t limit);

  // Gives `credit`, which is on an account, at least `bytes` more than it has to live blocks:
  // charges `bytes`, and up to a quantum more if that fits. False: refused, nothing changed.
  bool draw(Credit& credit, uint64_t bytes, Refusal* refusal);
  // Puts `credit`, which is empty, on `account`. False when the account is closed.
  bool attach(Credit& credit, AccountNode* account);
  // Adds `bytes` that left live blocks to the credit, and gives back all but `keep` of it.
  void give_back(Credit& credit, uint64_t bytes, uint64_t keep);
  // Gives all credit back and takes it off its account.
  void detach(Credit& credit);
  // Without credit: by threads that have none, and while memory is tight.
  bool charge(AccountNode* account, uint64_t bytes, Refusal* refusal);
  void uncharge(AccountNode* account, uint64_t bytes);

  // While tight, threads keep no credit and draw no more than they need.
  bool tight() const { return tight_.load(std::memory_order_relaxed) != 0; }
  void tighten() { tight_.fetch_add(1, std::memory_order_seq_cst); }
  void relax() { tight_.fetch_sub(1, std::memory_order_seq_cst); }

  // `credits`: those of all threads, as the caller collected them.
  struct Held {
    const AccountNode* account;
    uint64_t bytes;
    uint64_t low;
  };
  AccountFigures figures(const AccountNode* account, const std::vector<Held>& credits);
  // Sets the peak to what is in live blocks.
  void reset_peak(AccountNode* account, const std::vector<Held>& credits);

  uint64_t accounts() const;
  bool is_below(const AccountNode* account, const AccountNode* ancestor);
  // "trial-17", or "trial-17 (closed)", and the account's id; an empty name and 0 when the node is
  // not in use any more.
  std::string name_of(const AccountNode* account, uint64_t* id);

 private:
  struct NodeSlab {
    AccountNode nodes[16];
    NodeSlab* next = nullptr;
  };

  // Takes a node from the pool, to which the nodes of `fresh`, if any, are added first.
  AccountNode* take_node(NodeSlab* fresh) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  bool fits(AccountNode* account, uint64_t bytes, Refusal* refusal) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void add(AccountNode* account, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void subtract(AccountNode* account, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void note_low(Credit& credit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void sync(Credit& credit, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  static bool done(const AccountNode* account);
  void free_if_done(AccountNode* account) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void set_bounds(AccountNode* account) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  std::string name_locked(const AccountNode* account) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  AllocatorCore& core_;
  const uint64_t largest_credit_;
  std::atomic<uint32_t> tight_{0};
  mutable base::SpinLock lock_;
  AccountNode* root_ = nullptr;
  AccountNode* pool_ ABSL_GUARDED_BY(lock_) = nullptr;
  uint64_t open_ ABSL_GUARDED_BY(lock_) = 0;
  NodeSlab* slabs_ ABSL_GUARDED_BY(lock_) = nullptr;
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_LEDGER_H_
