#include "runtime/thread_state.h"

#include <memory>

#include "runtime/core.h"

namespace quiesce::runtime {

constinit thread_local ThreadLocal thread_local_state;

namespace {

// Runs as the thread ends, while its record still works. The thread drops its own reference and no
// more: what that orphans is retired here, and reclaimed by a later pass (rule 10).
void end_thread(void* value) {
  std::unique_ptr<ThreadState> state(static_cast<ThreadState*>(value));
  if (thread_local_state.state == state.get()) thread_local_state.state = nullptr;
  state->last = epoch::IncarnationRef();
  if (state->own != nullptr) state->own->drop_handle();
}

}  // namespace

void install_thread_exit(epoch::Domain& domain) {
  domain.set_exit_hook(epoch::ThreadSlot::kScope, &end_thread);
}

ThreadState& thread_state_slow(Core& core) {
  epoch::ThreadRecord& record = core.domain().record();
  auto* state = static_cast<ThreadState*>(record.get(epoch::ThreadSlot::kScope));
  if (state == nullptr) {
    state = new ThreadState;
    state->core = &core;
    record.set(epoch::ThreadSlot::kScope, state);
  }
  thread_local_state.state = state;
  return *state;
}

}  // namespace quiesce::runtime
