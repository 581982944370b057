#include "nn/thrown.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

absl::Status no_memory(const char* what) {
  return base::make_error(ErrorKind::kOutOfMemory,
                          absl::StrCat(what, ": the host has no memory left for it"));
}

}  // namespace

absl::Status thrown_error(const char* what) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return no_memory(what);
  } catch (const std::length_error&) {  // a container asked for more than any memory
    return no_memory(what);
  } catch (const std::exception& thrown) {
    return base::make_error(ErrorKind::kOther,
                            absl::StrCat(what, ": something it called threw: ", thrown.what()));
  } catch (...) {
    return base::make_error(ErrorKind::kOther,
                            absl::StrCat(what, ": something it called threw something unknown"));
  }
}

}  // namespace quiesce::nn
