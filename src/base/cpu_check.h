#ifndef QUIESCE_BASE_CPU_CHECK_H_
#define QUIESCE_BASE_CPU_CHECK_H_

#include "absl/status/status.h"

namespace quiesce::base {

// OK when this processor has what the host kernels are compiled for (x86-64-v3); otherwise an
// error that names the missing feature. Compiled for the baseline processor, so it can say so.
absl::Status check_cpu();

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_CPU_CHECK_H_
