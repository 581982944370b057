#include "cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_format.h"
#include "cli/command_line.h"
#include "cli/devices.h"
#include "cli/tune.h"

namespace quiesce::cli {

namespace {

// Fills the first three file numbers where the caller closed them: a file that is opened later must
// not become the standard output by its number.
void fill_standard_files() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) close(fd);
}

// What was printed has to arrive: a full disk under `quiesce tune > results` is a failure.
int with_output_written(int exit_code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  absl::FPrintF(stderr, "quiesce: cannot write to standard output%s%s\n", errno == 0 ? "" : ": ",
                errno == 0 ? "" : std::strerror(errno));
  return exit_code == kExitDone ? kExitFailed : exit_code;
}

int run_command(int argc, const char* const* argv) {
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

}  // namespace

int run(int argc, const char* const* argv) {
  fill_standard_files();
  return with_output_written(run_command(argc, argv));
}

}  // namespace quiesce::cli
