#include "device/cuda/nvml.h"

#include <dlfcn.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/make_error.h"

namespace quiesce::device::cuda {
namespace {

// Declared here, because the toolkit's packages do not always bring nvml.h. The names and layouts
// are NVML's stable ABI.
using NvmlReturn = int;  // 0: success
using NvmlHandle = struct NvmlHandleTag*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*driver_version)(char*, unsigned) = nullptr;
  NvmlReturn (*count)(unsigned*) = nullptr;
  NvmlReturn (*by_index)(unsigned, NvmlHandle*) = nullptr;
  NvmlReturn (*name)(NvmlHandle, char*, unsigned) = nullptr;
  NvmlReturn (*uuid)(NvmlHandle, char*, unsigned) = nullptr;
  NvmlReturn (*capability)(NvmlHandle, int*, int*) = nullptr;
  NvmlReturn (*memory)(NvmlHandle, NvmlMemory*) = nullptr;
};

absl::Status unavailable(const std::string& reason) {
  return base::make_error(ErrorKind::kUnsupported, reason);
}

// The first function that the library lacks; null when it has all.
const char* fill(void* library, Nvml& nvml) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("nvmlInit_v2", nvml.init);
  find("nvmlShutdown", nvml.shutdown);
  find("nvmlErrorString", nvml.error_string);
  find("nvmlSystemGetDriverVersion", nvml.driver_version);
  find("nvmlDeviceGetCount_v2", nvml.count);
  find("nvmlDeviceGetHandleByIndex_v2", nvml.by_index);
  find("nvmlDeviceGetName", nvml.name);
  find("nvmlDeviceGetUUID", nvml.uuid);
  find("nvmlDeviceGetCudaComputeCapability", nvml.capability);
  find("nvmlDeviceGetMemoryInfo", nvml.memory);
  return missing;
}

}  // namespace

absl::StatusOr<NvmlView> look_by_nvml(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return unavailable(absl::StrCat("no NVML: ", why == nullptr ? library : why));
  }
  Nvml nvml;
  if (const char* missing = fill(handle, nvml)) {
    return unavailable(absl::StrCat("NVML (", library, ") lacks ", missing));
  }
  const auto failed = [&](const char* call, NvmlReturn result) {
    return unavailable(absl::StrCat("NVML's ", call, " failed: ", nvml.error_string(result)));
  };
  if (NvmlReturn result = nvml.init()) return failed("nvmlInit", result);
  const absl::Cleanup shutdown = [&] { nvml.shutdown(); };

  NvmlView view;
  char text[96] = {};
  if (NvmlReturn result = nvml.driver_version(text, sizeof(text))) {
    return failed("nvmlSystemGetDriverVersion", result);
  }
  view.driver_version = text;
  unsigned count = 0;
  if (NvmlReturn result = nvml.count(&count)) return failed("nvmlDeviceGetCount", result);
  for (unsigned i = 0; i < count; ++i) {
    NvmlHandle gpu = nullptr;
    // A GPU that this container may not use is counted but not given out.
    if (nvml.by_index(i, &gpu) != 0) continue;
    NvmlDevice device;
    if (nvml.name(gpu, text, sizeof(text)) == 0) device.name = text;
    if (nvml.uuid(gpu, text, sizeof(text)) == 0) device.uuid = text;
    nvml.capability(gpu, &device.capability_major, &device.capability_minor);
    NvmlMemory memory = {};
    if (nvml.memory(gpu, &memory) == 0) {
      device.total_bytes = memory.total;
      device.free_bytes = memory.free;
    }
    view.devices.push_back(std::move(device));
  }
  return view;
}

}  // namespace quiesce::device::cuda
