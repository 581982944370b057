#ifndef QUIESCE_BASE_STATUS_MACROS_H_
#define QUIESCE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` from the enclosing function unless it is OK.
#define QUIESCE_RETURN_IF_ERROR(expression)                             \
  do {                                                                  \
    if (absl::Status quiesce_status_ = (expression); !quiesce_status_.ok()) \
      return quiesce_status_;                                           \
  } while (false)

// QUIESCE_ASSIGN_OR_RETURN(auto value, some_status_or()): assigns, or returns the error.
#define QUIESCE_ASSIGN_OR_RETURN(target, expression) \
  QUIESCE_ASSIGN_OR_RETURN_1_(QUIESCE_CONCAT_(quiesce_result_, __COUNTER__), target, expression)
#define QUIESCE_ASSIGN_OR_RETURN_1_(result, target, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return std::move(result).status();          \
  target = *std::move(result)

#define QUIESCE_CONCAT_(a, b) QUIESCE_CONCAT_1_(a, b)
#define QUIESCE_CONCAT_1_(a, b) a##b

#endif  // QUIESCE_BASE_STATUS_MACROS_H_
