// The command line of `quiesce`.

#ifndef QUIESCE_CLI_COMMAND_LINE_H_
#define QUIESCE_CLI_COMMAND_LINE_H_

#include <optional>
#include <string>

#include "cli/tune.h"

namespace quiesce::cli {

struct CommandLine {
  enum class Command { kTune, kDevices };
  Command command = Command::kTune;
  TuneOptions tune;
};

// What there is to do; or, when that is nothing, the text to print and the exit code.
struct Parsed {
  std::optional<CommandLine> command_line;
  std::string output;                   // of --help and --version
  std::string error;                    // one line
  std::string help = "quiesce --help";  // the command that says more
  int exit_code = 0;
};

Parsed parse_command_line(int argc, const char* const* argv);

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_COMMAND_LINE_H_
