#include "cli/cli.h"

#include <cstdio>

#include "absl/strings/str_format.h"
#include "cli/command_line.h"
#include "cli/devices.h"
#include "cli/tune.h"

namespace quiesce::cli {

int run(int argc, const char* const* argv) {
  const Parsed parsed = parse_command_line(argc, argv);
  std::fputs(parsed.output.c_str(), stdout);
  if (!parsed.error.empty()) {
    absl::FPrintF(stderr, "quiesce: %s (%s says more)\n", parsed.error, parsed.help);
  }
  if (!parsed.command_line) return parsed.exit_code;
  switch (parsed.command_line->command) {
    case CommandLine::Command::kDevices:
      return print_devices();
    case CommandLine::Command::kTune:
      break;
  }
  return tune(parsed.command_line->tune);
}

}  // namespace quiesce::cli
