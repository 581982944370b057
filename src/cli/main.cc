#include <cstdio>
#include <exception>

#include "cli/cli.h"

int main(int argc, char** argv) {
  try {
    return quiesce::cli::run(argc, argv);
  } catch (const std::exception& error) {
    // No memory for the program's own few bytes, or no thread to be had.
    std::fprintf(stderr, "quiesce: %s\n", error.what());
    return quiesce::cli::kExitFailed;
  }
}
