// A libcuda.so.1 for tests of the loader. It answers cuGetProcAddress_v2 by the driver's rules: a
// version above its own is refused, an unknown function is a success with a null pointer. The
// environment says which driver it plays:
//   QUIESCE_FAKE_DRIVER   its version, 13000 when absent; "stub" answers as the toolkit's stub does
//   QUIESCE_FAKE_MISSING  a function that it does not know

#include <cstdlib>
#include <cstring>

#include "src/device/cuda/driver_table.h"

namespace {

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_stub() { return std::strcmp(setting("QUIESCE_FAKE_DRIVER"), "stub") == 0; }

int own_version() {
  const int version = std::atoi(setting("QUIESCE_FAKE_DRIVER"));
  return version == 0 ? 13000 : version;
}

#ifndef QUIESCE_FAKE_BEFORE_12
CUresult not_initialized() { return CUDA_ERROR_NOT_INITIALIZED; }

struct Entry {
  const char* name;
  int version;
};
#define QUIESCE_FAKE_ENTRY(name, version) {#name, version},
const Entry kEntries[] = {QUIESCE_CUDA_REQUIRED(QUIESCE_FAKE_ENTRY)
                              QUIESCE_CUDA_OPTIONAL(QUIESCE_FAKE_ENTRY)};

#endif

}  // namespace

#define QUIESCE_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

QUIESCE_FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (is_stub()) return CUDA_ERROR_STUB_LIBRARY;
  *version = own_version();
  return CUDA_SUCCESS;
}

#ifndef QUIESCE_FAKE_BEFORE_12
QUIESCE_FAKE_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version,
                                                 cuuint64_t,
                                                 CUdriverProcAddressQueryResult* found) {
  *address = nullptr;
  if (is_stub()) return CUDA_ERROR_STUB_LIBRARY;
  if (version > own_version()) return CUDA_ERROR_INVALID_VALUE;
  if (found != nullptr) *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (std::strcmp(symbol, setting("QUIESCE_FAKE_MISSING")) == 0) return CUDA_SUCCESS;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(symbol, entry.name) != 0 || version < entry.version) continue;
    *address = std::strcmp(symbol, "cuDriverGetVersion") == 0
                   ? reinterpret_cast<void*>(&cuDriverGetVersion)
                   : reinterpret_cast<void*>(&not_initialized);
    if (found != nullptr) *found = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return CUDA_SUCCESS;
}
#endif
