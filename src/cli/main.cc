#include "cli/cli.h"

int main(int argc, char** argv) { return quiesce::cli::run(argc, argv); }
