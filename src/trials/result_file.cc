#include "trials/result_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "nn/atomic_file.h"
#include "quiesce/errors.h"

namespace quiesce::trials {
namespace {

absl::Status failed(const std::string& path, int error) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat("cannot write \"", path, "\": ", std::strerror(error)));
}

enum class Target { kNewOrRegular, kSpecial, kUnusable };

// What `path` is now; errno says why it is unusable.
Target classify(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Target::kNewOrRegular : Target::kUnusable;
  }
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return Target::kUnusable;
  }
  if (access(path.c_str(), W_OK) != 0) return Target::kUnusable;
  return S_ISREG(info.st_mode) ? Target::kNewOrRegular : Target::kSpecial;
}

absl::Status write_special(const std::string& path, std::string_view contents) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failed(path, errno);
  absl::Status status;
  while (!contents.empty() && status.ok()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written > 0) contents.remove_prefix(static_cast<size_t>(written));
    if (written < 0 && errno != EINTR) status = failed(path, errno);
  }
  close(fd);
  return status;
}

}  // namespace

absl::Status check_writable(const std::string& path) {
  if (path.empty() || path.back() == '/') {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("cannot write \"", path, "\": it names no file"));
  }
  const Target target = classify(path);
  if (target == Target::kUnusable) return failed(path, errno);
  if (target == Target::kSpecial) return absl::OkStatus();
  std::string probe = path + ".XXXXXX";
  const int fd = mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) return failed(path, errno);
  close(fd);
  unlink(probe.c_str());
  return absl::OkStatus();
}

absl::Status write_result_file(const std::string& path, std::string_view contents) {
  if (classify(path) == Target::kSpecial) return write_special(path, contents);
  return nn::write_file_atomically(path, {contents});
}

}  // namespace quiesce::trials
