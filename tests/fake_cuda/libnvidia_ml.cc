// A libnvidia-ml.so.1 for tests: as many GPUs as QUIESCE_FAKE_GPUS says (one when absent), or an
// error from the first call when it says "error".

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const char* gpus() {
  const char* value = std::getenv("QUIESCE_FAKE_GPUS");
  return value == nullptr ? "1" : value;
}

}  // namespace

#define QUIESCE_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

QUIESCE_FAKE_EXPORT int nvmlInit_v2() { return std::strcmp(gpus(), "error") == 0 ? 9 : 0; }
QUIESCE_FAKE_EXPORT int nvmlShutdown() { return 0; }
QUIESCE_FAKE_EXPORT const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
QUIESCE_FAKE_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.65.06");
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(std::atoi(gpus()));
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Fake H200");
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%zu", reinterpret_cast<size_t>(handle));
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
QUIESCE_FAKE_EXPORT int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 139ull << 30;
  memory[1] = 138ull << 30;
  memory[2] = 1ull << 30;
  return 0;
}
