#include "exec/kernels/cuda/kernel_library.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "exec/kernels/bodies/list.h"

// Defined by the assembler unit that the build generates around the fatbin.
extern "C" const char quiesce_cuda_kernels[];
extern "C" const char quiesce_cuda_kernels_end[];

namespace quiesce::exec::kernels::cuda {
namespace {

#define QUIESCE_FATBIN_KERNEL(name, Body) {#name, "quiesce_" #name, sizeof(Body::Args)},
constexpr FatbinKernel kFatbinKernels[] = {QUIESCE_ELEMENT_KERNELS(QUIESCE_FATBIN_KERNEL)
                                               QUIESCE_ROW_KERNELS(QUIESCE_FATBIN_KERNEL)};
#undef QUIESCE_FATBIN_KERNEL

constexpr uint32_t kFatbinMagic = 0xBA55ED50;

// The number of type T at a place of the text, which has to be in it.
template <typename T>
T number_at(absl::string_view text, size_t at) {
  T value;
  std::memcpy(&value, text.data() + at, sizeof(value));
  return value;
}

absl::Status corrupt(absl::string_view what, size_t at) {
  return base::make_error(ErrorKind::kCorruptData,
                          absl::StrCat("the CUDA kernels are no fatbin: ", what, " at byte ", at,
                                       "; build the library again"));
}

}  // namespace

absl::string_view embedded_fatbin() {
  return {quiesce_cuda_kernels,
          static_cast<size_t>(quiesce_cuda_kernels_end - quiesce_cuda_kernels)};
}

absl::Span<const FatbinKernel> fatbin_kernels() { return kFatbinKernels; }

absl::StatusOr<std::vector<FatbinCode>> fatbin_codes(absl::string_view fatbin) {
  // Header: magic u32, version u16, header bytes u16, body bytes u64. Then entries: kind u16 (1
  // PTX, 2 machine code), u16, header bytes u32, body bytes u64, …, architecture u32 at byte 28.
  constexpr size_t kHeaderBytes = 16;
  constexpr size_t kEntryBytes = 32;
  if (fatbin.size() < kHeaderBytes || number_at<uint32_t>(fatbin, 0) != kFatbinMagic) {
    return corrupt("no magic number", 0);
  }
  size_t at = number_at<uint16_t>(fatbin, 6);
  const uint64_t body_bytes = number_at<uint64_t>(fatbin, 8);
  if (at < kHeaderBytes || at > fatbin.size() || body_bytes > fatbin.size() - at) {
    return corrupt("a length beyond the end", 8);
  }
  const size_t end = at + body_bytes;
  std::vector<FatbinCode> codes;
  while (at < end) {
    if (end - at < kEntryBytes) return corrupt("a short entry", at);
    const uint64_t header = number_at<uint32_t>(fatbin, at + 4);
    const uint64_t body = number_at<uint64_t>(fatbin, at + 8);
    if (header < kEntryBytes || header > end - at || body > end - at - header) {
      return corrupt("an entry beyond the end", at);
    }
    codes.push_back(
        {number_at<uint16_t>(fatbin, at) == 1 ? FatbinCode::Kind::kPtx : FatbinCode::Kind::kMachine,
         static_cast<int>(number_at<uint32_t>(fatbin, at + 28))});
    at += header + body;
  }
  return codes;
}

}  // namespace quiesce::exec::kernels::cuda
