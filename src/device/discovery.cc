#include "device/discovery.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/cpu_check.h"

namespace quiesce::device {
namespace {

// The first value of `key : value` in a file of /proc; empty when there is none.
std::string proc_value(const char* path, absl::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    absl::string_view text = line;
    if (!absl::ConsumePrefix(&text, key)) continue;
    text = absl::StripLeadingAsciiWhitespace(text);
    if (absl::ConsumePrefix(&text, ":")) return std::string(absl::StripAsciiWhitespace(text));
  }
  return "";
}

// Bytes of a "MemTotal:  24576 kB" line.
uint64_t meminfo(absl::string_view key) {
  const std::string value = proc_value("/proc/meminfo", key);
  return std::strtoull(value.c_str(), nullptr, 10) << 10;
}

std::string cpu_features() {
  __builtin_cpu_init();
  std::string features;
  const auto note = [&features](bool present, const char* name) {
    if (present) absl::StrAppend(&features, features.empty() ? "" : " ", name);
  };
  note(__builtin_cpu_supports("sse4.2"), "sse4.2");
  note(__builtin_cpu_supports("avx"), "avx");
  note(__builtin_cpu_supports("avx2"), "avx2");
  note(__builtin_cpu_supports("fma"), "fma");
  note(__builtin_cpu_supports("bmi2"), "bmi2");
  note(__builtin_cpu_supports("avx512f"), "avx512f");
  return features;
}

DiscoveredDevice host() {
  DiscoveredDevice found;
  found.info = {DeviceKind::kHost, 0, "host", meminfo("MemTotal"), meminfo("MemAvailable")};
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  found.details = absl::StrCat(model.empty() ? "processor" : model, ", ",
                               std::thread::hardware_concurrency(), " cores, ", cpu_features());
  found.status = base::check_cpu();
  return found;
}

DiscoveredDevice simulated() {
  DiscoveredDevice found;
  found.info = {DeviceKind::kSimulated, 0, "simulated:0", 0, 0};
  found.details = "asynchronous streams over host memory, for tests";
  return found;
}

std::string gibibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1 << 30));
}

}  // namespace

std::vector<DiscoveredDevice> discover() {
  std::vector<DiscoveredDevice> devices = {host(), simulated()};
  std::vector<DiscoveredDevice> cuda = discover_cuda();
  devices.insert(devices.end(), std::make_move_iterator(cuda.begin()),
                 std::make_move_iterator(cuda.end()));
  return devices;
}

std::string devices_text(const std::vector<DiscoveredDevice>& devices) {
  std::string text;
  for (const DiscoveredDevice& device : devices) {
    absl::StrAppendFormat(&text, "%-13s", device.info.name);
    if (device.info.total_bytes != 0) {
      absl::StrAppend(&text, gibibytes(device.info.total_bytes), ", ",
                      gibibytes(device.info.free_bytes), " free, ");
    }
    absl::StrAppend(&text, device.details);
    if (!device.status.ok()) {
      absl::StrAppend(&text, device.details.empty() ? "" : "; ",
                      "not usable: ", device.status.message());
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace quiesce::device
