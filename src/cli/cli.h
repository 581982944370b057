// The `quiesce` program, but for its main().

#ifndef QUIESCE_CLI_CLI_H_
#define QUIESCE_CLI_CLI_H_

namespace quiesce::cli {

// The program's exit codes. 130 is what shells expect of a program that Ctrl-C ended.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

// Reads the command line and does what it says. Returns the exit code.
int run(int argc, const char* const* argv);

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_CLI_H_
