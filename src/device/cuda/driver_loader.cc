#include "device/cuda/driver_loader.h"

#include <dlfcn.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/process.h"

namespace quiesce::device::cuda {
namespace {

std::string version_text(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

DriverLoad absent(DriverAbsence absence, const std::string& reason) {
  DriverLoad load;
  load.absence = absence;
  load.status = base::make_error(ErrorKind::kUnsupported, reason);
  return load;
}

DriverLoad too_old(const char* library, int version) {
  return absent(DriverAbsence::kTooOld,
                absl::StrCat("the CUDA driver (", library, ") is of version ",
                             version == 0 ? "unknown" : version_text(version), "; Quiesce needs ",
                             version_text(kLeastDriverVersion),
                             " or later: update NVIDIA's driver to 525 or later"));
}

// Asks for exactly one version of a function. A driver that is older than the version refuses, one
// that does not know the function answers success and null.
class Resolver {
 public:
  explicit Resolver(PFN_cuGetProcAddress_v12000 get) : get_(get) {}

  template <typename Function>
  bool find(const char* name, int version, Function& function) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found;
    const CUresult result =
        get_(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    if (result == CUDA_ERROR_STUB_LIBRARY) is_stub_ = true;
    if (result != CUDA_SUCCESS) address = nullptr;
    function = reinterpret_cast<Function>(address);
    return address != nullptr;
  }

  bool is_stub() const { return is_stub_; }

 private:
  const PFN_cuGetProcAddress_v12000 get_;
  bool is_stub_ = false;
};

}  // namespace

DriverLoad load_driver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absent(DriverAbsence::kNoLibrary,
                  absl::StrCat("no CUDA driver: ", why == nullptr ? library : why,
                               "; install NVIDIA's driver 525 or later where there is a GPU"));
  }
  const auto get =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(handle, "cuGetProcAddress_v2"));
  const auto get_version =
      reinterpret_cast<PFN_cuDriverGetVersion_v2020>(dlsym(handle, "cuDriverGetVersion"));
  int version = 0;
  if (get_version != nullptr && get_version(&version) == CUDA_ERROR_STUB_LIBRARY) {
    version = 0;
  }
  if (get == nullptr) {
    // The entry came with 12.0.
    if (get_version != nullptr) return too_old(library, version);
    return absent(DriverAbsence::kNotADriver,
                  absl::StrCat(library,
                               " is no CUDA driver: it has no cuGetProcAddress_v2; "
                               "look which file of that name comes first"));
  }

  DriverLoad load;
  Driver& driver = load.driver;
  Resolver resolver(get);
  const char* missing = nullptr;
#define QUIESCE_CUDA_FIND(name, version) \
  if (!resolver.find(#name, version, driver.name) && missing == nullptr) missing = #name;
  QUIESCE_CUDA_REQUIRED(QUIESCE_CUDA_FIND)
#undef QUIESCE_CUDA_FIND
#define QUIESCE_CUDA_FIND(name, version) resolver.find(#name, version, driver.name);
  QUIESCE_CUDA_OPTIONAL(QUIESCE_CUDA_FIND)
#undef QUIESCE_CUDA_FIND

  if (resolver.is_stub()) {
    return absent(DriverAbsence::kStub,
                  absl::StrCat("no CUDA driver: ", library,
                               " is the toolkit's stub for linking; take its folder out of the "
                               "library path and install NVIDIA's driver"));
  }
  if (driver.cuDriverGetVersion != nullptr) driver.cuDriverGetVersion(&version);
  driver.version = version;
  if (version < kLeastDriverVersion) return too_old(library, version);
  if (missing != nullptr) {
    return absent(DriverAbsence::kIncomplete,
                  absl::StrCat("the CUDA driver (", library, ", version ", version_text(version),
                               ") lacks ", missing, ", which every driver from ",
                               version_text(kLeastDriverVersion), " on has; reinstall the driver"));
  }
  return load;
}

absl::StatusOr<const Driver*> process_driver() {
  base::init_once();
  if (base::is_forked_child()) return base::forked_child_error();
  static const DriverLoad& load = *new DriverLoad(load_driver("libcuda.so.1"));
  if (!load.status.ok()) return load.status;
  return &load.driver;
}

}  // namespace quiesce::device::cuda
