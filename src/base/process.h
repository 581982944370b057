#ifndef QUIESCE_BASE_PROCESS_H_
#define QUIESCE_BASE_PROCESS_H_

#include <cstddef>

#include "absl/status/status.h"

namespace quiesce::base {

// Anonymous memory, zeroed, that a forked child finds zeroed again (MADV_WIPEONFORK; on a kernel
// without it a fork handler does the wiping). `bytes` is rounded up to pages. Never given back.
void* map_wiped_on_fork(size_t bytes);

// True in a forked child of the process that called init_once(). One load. Thread-safe.
bool is_forked_child();

// The typed error that every call returns there.
absl::Status forked_child_error();

// What has to happen once per process, before anything else of the library, and not before main:
// the fork guard is set, and Abseil's deadlock detector, which costs a process-wide lock and reports
// on stderr of a host that did not ask, is switched off in release builds. Thread-safe.
void init_once();

// Name of the calling thread, at most 15 characters, as the kernel knows it.
struct ThreadName {
  char text[16] = {};
};
ThreadName current_thread_name();

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_PROCESS_H_
