#include "base/cpu_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"

namespace quiesce::base {

absl::Status check_cpu() {
  __builtin_cpu_init();
  std::string missing;
  const auto need = [&missing](bool present, const char* name) {
    if (!present) absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  };
  need(__builtin_cpu_supports("avx"), "AVX");
  need(__builtin_cpu_supports("avx2"), "AVX2");
  need(__builtin_cpu_supports("fma"), "FMA");
  need(__builtin_cpu_supports("bmi"), "BMI1");
  need(__builtin_cpu_supports("bmi2"), "BMI2");
  if (missing.empty()) return absl::OkStatus();
  return make_error(ErrorKind::kUnsupported,
                    absl::StrCat("the host kernels need a processor of level x86-64-v3; this one "
                                 "lacks ",
                                 missing, "; run on a newer processor (Haswell, Zen or later)"));
}

}  // namespace quiesce::base
