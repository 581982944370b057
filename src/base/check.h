#ifndef QUIESCE_BASE_CHECK_H_
#define QUIESCE_BASE_CHECK_H_

#include <string>

namespace quiesce::base {

// Prints "file:line: check failed: condition: what" and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* what);
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& what);

}  // namespace quiesce::base

// `what` is built only when the check fails. For programming errors alone, in every build; bad input gets a typed status instead.
#define QUIESCE_CHECK(condition, what)                                           \
  (__builtin_expect(static_cast<bool>(condition), 1)                             \
       ? static_cast<void>(0)                                                    \
       : ::quiesce::base::check_failed(__FILE__, __LINE__, #condition, what))

#endif  // QUIESCE_BASE_CHECK_H_
