#ifndef QUIESCE_EXEC_KERNELS_CUDA_KERNEL_LIBRARY_H_
#define QUIESCE_EXEC_KERNELS_CUDA_KERNEL_LIBRARY_H_

// The CUDA kernels that the library carries: a fatbin with machine code for every chip in use and
// PTX for the others, and the list of what is in it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace quiesce::exec::kernels::cuda {

// One kernel of the fatbin. An immutable value that refers to static memory.
struct FatbinKernel {
  const char* name;         // as in exec/kernels/bodies/list.h
  const char* symbol;       // as in the fatbin: quiesce_<name>
  uint32_t argument_bytes;  // of its one argument struct, on the host
};

// One piece of code in a fatbin.
struct FatbinCode {
  enum class Kind : uint8_t { kPtx, kMachine };
  Kind kind;
  int architecture;  // 75 for sm_75 or compute_75
};

// The embedded fatbin, 64-byte aligned, valid for the life of the process.
absl::string_view embedded_fatbin();

// All kernels in it. Thread-safe; static memory.
absl::Span<const FatbinKernel> fatbin_kernels();

// What a fatbin holds, read from its headers; ErrorKind::kCorruptData when it is none.
absl::StatusOr<std::vector<FatbinCode>> fatbin_codes(absl::string_view fatbin);

}  // namespace quiesce::exec::kernels::cuda

#endif  // QUIESCE_EXEC_KERNELS_CUDA_KERNEL_LIBRARY_H_
