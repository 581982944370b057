#ifndef QUIESCE_ERRORS_H_
#define QUIESCE_ERRORS_H_

#include <string_view>

#include "absl/status/status.h"
#include "quiesce/export.h"

namespace quiesce {

// What went wrong, finer than absl's codes. Every error this library returns carries one.
enum class ErrorKind {
  kNone,             // the status is OK
  kOther,            // an error that this library did not make
  kInvalidArgument,  // a value outside what the call accepts
  kStale,            // a handle, scope or pin on a session that was cleared
  kShutdown,         // the runtime was shut down
  kForkedChild,      // the process is a forked child of the one that made the runtime
  kOutOfMemory,      // the device has no more memory, after every step that gains some
  kQuotaExceeded,    // a session's, study's or runtime's own limit
  kTooLarge,         // more than the device or the limit could ever give
  kDoubleFree,       // a block given back twice
  kForeignPointer,   // a pointer that the allocator did not hand out
  kCancelled,        // stopped on request
  kDeadline,         // the deadline passed first
  kMismatch,         // saved data that do not fit what they are loaded into
  kCorruptData,      // a file that is truncated or damaged
  kNotCompiled,      // fit, evaluate or predict before compile
  kNotBuilt,         // the model has no weights yet
  kNotFinite,        // a NaN or an infinity where a number was needed
  kBusy,             // another thread is at work on it, or a callback inside that work
  kUnsupported,      // not offered on this device or in this build
  kDeviceLost,       // the device failed for good; the message keeps the first cause
  kInternal,         // a broken promise of the library itself
};

// The kind that `status` carries. Thread-safe.
QUIESCE_EXPORT ErrorKind error_kind(const absl::Status& status);

// "Stale", "OutOfMemory", ...
QUIESCE_EXPORT std::string_view error_kind_name(ErrorKind kind);

}  // namespace quiesce

#endif  // QUIESCE_ERRORS_H_
