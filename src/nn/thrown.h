// thrown_error: exceptions that come up to a public call, turned into its status.
#ifndef QUIESCE_NN_THROWN_H_
#define QUIESCE_NN_THROWN_H_

#include "absl/status/status.h"

namespace quiesce::nn {

// For catch (...): what is being handled, as an error of the call `what`. No host memory:
// kOutOfMemory; everything else, such as what a progress sink threw: kOther.
absl::Status thrown_error(const char* what);

}  // namespace quiesce::nn

// Closes the function-try-block of a public call, so that no exception crosses the API:
//   absl::Status Sequential::build(...) try { ... } QUIESCE_NOTHING_THROWN("build")
#define QUIESCE_NOTHING_THROWN(what) \
  catch (...) {                      \
    return nn::thrown_error(what);   \
  }

#endif  // QUIESCE_NN_THROWN_H_
