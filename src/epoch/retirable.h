#ifndef QUIESCE_EPOCH_RETIRABLE_H_
#define QUIESCE_EPOCH_RETIRABLE_H_

#include <cstdint>
#include <string_view>

#include "absl/functional/any_invocable.h"

namespace quiesce::epoch {

// Destructors of what is not ours (callbacks, closures, user layers) that a pass collected. They run
// at the collecting thread's outermost unpin, with nothing of ours locked, or, if that thread ends
// first, after the next pass of an unpinned thread (rule 17).
// Thread word: thread-compatible.
class ForeignList {
 public:
  ForeignList() = default;
  ForeignList(const ForeignList&) = delete;
  ForeignList& operator=(const ForeignList&) = delete;
  ~ForeignList();

  void add(absl::AnyInvocable<void()> destructor);
  bool empty() const { return first_ == nullptr; }
  uint64_t size() const { return size_; }

  // Moves everything of `other` to the end of this list.
  void take(ForeignList& other);
  // Runs the oldest one, which may add more. False when there is none.
  bool run_one();

 private:
  struct Item;
  Item* first_ = nullptr;
  Item* last_ = nullptr;
  uint64_t size_ = 0;
};

// What an incarnation owns, as the epoch layer sees it. Owned by the incarnation; destroyed by the
// one thread that claimed it, with none of our locks held and nobody inside.
class Retirable {
 public:
  virtual ~Retirable() = default;

  // Gives back all that the library owns, now; hands what is foreign to `foreign`. The object itself
  // is deleted right after. May pin other incarnations, clear, and drop handles; never waits for one.
  virtual void destroy(ForeignList& foreign) = 0;

  // Bytes now in use by it, for reports. Called by any thread while the contents exist, under the
  // incarnation's lock: short, calls nobody, and locks at most what nobody holds while entering this
  // layer.
  virtual uint64_t bytes() const = 0;

  virtual std::string_view name() const = 0;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_RETIRABLE_H_
