// `quiesce devices`.

#ifndef QUIESCE_CLI_DEVICES_H_
#define QUIESCE_CLI_DEVICES_H_

namespace quiesce::cli {

// A line per device, or why a kind of device has none. Returns the exit code.
int print_devices();

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_DEVICES_H_
