#ifndef QUIESCE_EPOCH_THREAD_CONTEXT_H_
#define QUIESCE_EPOCH_THREAD_CONTEXT_H_

#include "epoch/thread_record.h"

namespace quiesce::epoch {

// What a task must find on whatever thread runs it: the scope slot and the lease scopes of the thread
// that made it. A plain value; it refers to the scopes of the capturing thread, which must stay open
// until the last RestoreScope on it has ended (a task group is waited for inside the scope).
class ThreadContext {
 public:
  ThreadContext() = default;
  static ThreadContext capture(Domain& domain);

  void* scope() const { return scope_; }

 private:
  friend class RestoreScope;
  Domain* domain_ = nullptr;
  void* scope_ = nullptr;
  LeaseScope* lease_scopes_ = nullptr;
};

// Puts a captured context in force on this thread, and what was there before back at its end: a task
// that runs while its thread waits inside another one leaves no trace. Thread-bound, stack-like.
class RestoreScope {
 public:
  explicit RestoreScope(const ThreadContext& context);
  ~RestoreScope();
  RestoreScope(const RestoreScope&) = delete;
  RestoreScope& operator=(const RestoreScope&) = delete;

 private:
  ThreadRecord* record_ = nullptr;
  void* scope_ = nullptr;
  LeaseScope* lease_scopes_ = nullptr;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_THREAD_CONTEXT_H_
