#ifndef QUIESCE_MEMORY_ACCOUNT_H_
#define QUIESCE_MEMORY_ACCOUNT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quiesce/memory_figures.h"

namespace quiesce::memory {

class Allocator;
struct AccountNode;

enum class AccountLevel : uint8_t { kDevice, kRuntime, kSession, kIncarnation };
const char* account_level_name(AccountLevel level);

// What an account still held when it was closed.
struct AccountClosed {
  uint64_t bytes = 0;                 // zero when everything had been freed
  std::vector<MemoryHolder> holders;  // who holds them, by label and call site
};

// A node of the ledger of one allocator: device -> runtime -> session -> incarnation. It counts the
// bytes of the blocks that were allocated against it or an account below it, and bounds them.
// Owned by whoever opened it; movable; the empty Account (default) may only be assigned to. Opening
// and closing cost well under a microsecond, about 200 bytes, and no driver call. Thread-safe, but
// for moving and closing. After clear: its owner has closed it. In a forked child: open gives the
// empty Account, figures are zero, closing does nothing.
//
// 1. charged <= limit at every instant, at every level.
// 2. charged = bytes of live blocks + credits that threads hold. A request is refused only when it
//    would not fit with all credits recalled.
// 3. Closing does not wait. Blocks that outlive their account stay charged to its parents, and to
// the
//    closed account's name in reports, until they are freed.
class Account {
 public:
  Account() = default;
  ~Account() { reset(); }
  Account(Account&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Account& operator=(Account&& other) noexcept {
    if (this != &other) {
      reset();
      node_ = std::exchange(other.node_, nullptr);
    }
    return *this;
  }

  // An account of `allocator` under `parent`, or, when it is null, under the device's own account.
  // An empty name means the parent's. limit 0: none. The parent stays open longer than its
  // children.
  static Account open(Allocator& allocator, const Account* parent, AccountLevel level,
                      std::string_view name, uint64_t limit = 0);

  bool empty() const { return node_ == nullptr; }
  uint64_t id() const;
  AccountLevel level() const;
  std::string name() const;

  AccountFigures figures() const;
  // Bytes in live blocks. Looks at the credits of all threads.
  uint64_t current() const { return figures().current; }
  // Bytes in live blocks and credits: a plain read, that locks nothing.
  uint64_t charged() const;
  // Forgets the peak; the live total stays.
  void reset_peak();
  // 0: none. A limit below what is charged is honoured for the requests that follow.
  void set_limit(uint64_t limit);

  // Recalls the credits of all threads on this account and takes it out of the ledger.
  AccountClosed close();

 private:
  friend class Allocator;
  friend class AllocatorCore;
  void reset();

  AccountNode* node_ = nullptr;
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_ACCOUNT_H_
