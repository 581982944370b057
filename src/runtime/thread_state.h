// What the runtime keeps per thread: the stack of scopes, the uses that are under way, and, per
// runtime, the thread's own session.
#ifndef QUIESCE_RUNTIME_THREAD_STATE_H_
#define QUIESCE_RUNTIME_THREAD_STATE_H_

#include <optional>

#include "epoch/epoch.h"
#include "quiesce/source_location.h"

namespace quiesce::runtime {

class Core;
class SessionUser;
class Use;

// One entry of a thread's stack of scopes. Owned by its SessionScope. Thread-bound.
struct ScopeFrame {
  ScopeFrame* outer = nullptr;
  SessionUser* user = nullptr;           // a handle on it
  epoch::IncarnationRef incarnation;     // the leased one; else the one last found, as a hint
  std::optional<epoch::LeaseScope> lease;  // set: the frame is on a lease
  SourceLocation where;
  const void* thread = nullptr;  // &thread_local_state of the maker
};

// What one thread keeps of one runtime, behind ThreadSlot::kScope of its record in the runtime's
// domain, whose exit hook ends it. Thread-bound.
struct ThreadState {
  Core* core = nullptr;
  SessionUser* own = nullptr;  // the thread's own session, a handle; made on first use
  // The incarnation that this thread used last without a frame: a reference on its control block
  // (rule 9), and its user, null when there is none.
  epoch::IncarnationRef last;
  const epoch::User* last_user = nullptr;
  // Pins of this thread on `last` that are not in its list of uses; while there are any, `last` stays.
  uint32_t bare_pins = 0;
};

// The thread's part that spans runtimes. constinit and initial-exec: an access is one load.
struct ThreadLocal {
  ScopeFrame* frame = nullptr;   // innermost
  Use* use = nullptr;            // innermost
  ThreadState* state = nullptr;  // of the runtime used last
};
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadLocal
    thread_local_state;

ThreadState& thread_state_slow(Core& core);
// This thread's state in the runtime of `core`, made on first call.
inline ThreadState& thread_state(Core& core) {
  ThreadState* state = thread_local_state.state;
  if (state != nullptr && state->core == &core) [[likely]] return *state;
  return thread_state_slow(core);
}

// Lets threads that end drop what they have of the runtime. Before its first use.
void install_thread_exit(epoch::Domain& domain);

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_THREAD_STATE_H_
