#include "cli/devices.h"

#include <cstdio>

#include "cli/cli.h"
#include "device/discovery.h"

namespace quiesce::cli {

int print_devices() {
  std::fputs(device::devices_text(device::discover()).c_str(), stdout);
  return kExitDone;
}

}  // namespace quiesce::cli
