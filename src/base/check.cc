#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace quiesce::base {

void check_failed(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, what);
  std::abort();
}

void check_failed(const char* file, int line, const char* condition, const std::string& what) {
  check_failed(file, line, condition, what.c_str());
}

}  // namespace quiesce::base
