#include "nn/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

absl::Status file_error(absl::string_view doing, const std::string& path, int error) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(error)));
}

// A file descriptor, and the name to remove unless the file was moved to its place.
// Thread word: thread-compatible.
class OpenFile {
 public:
  explicit OpenFile(int descriptor, std::string remove = {})
      : descriptor_(descriptor), remove_(std::move(remove)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!remove_.empty()) unlink(remove_.c_str());
  }
  int descriptor() const { return descriptor_; }
  int close_now() { return close(std::exchange(descriptor_, -1)); }
  void keep() { remove_.clear(); }

 private:
  int descriptor_;
  std::string remove_;
};

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status write_file_atomically(const std::string& path,
                                   absl::Span<const std::string_view> pieces) {
  if (path.empty() || path.back() == '/' || path.find('\0') != std::string::npos) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("cannot write \"", path, "\": it names no file"));
  }
  // A rename would put the file in the place of a device or a pipe; root could lose /dev/null to it.
  struct stat before;
  const bool exists = stat(path.c_str(), &before) == 0;
  if (exists && !S_ISREG(before.st_mode)) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("cannot write ", path, ": not a regular file"));
  }
  // A name of our own: mkostemp would make the file private, and which bits the umask leaves to a new
  // file only the kernel says without changing the umask for the other threads.
  std::string temporary;
  int made = -1;
  do {
    temporary = absl::StrCat(path, ".", getpid(), "-", base::next_id(), ".new");
    made = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (made < 0 && errno == EEXIST);
  if (made < 0) return file_error("write", path, errno);
  OpenFile file(made, temporary);

  for (std::string_view piece : pieces) {
    if (int error = write_all(file.descriptor(), piece); error != 0) {
      return file_error("write", path, error);
    }
  }
  // What replaces a file is as readable as that was.
  if (exists && fchmod(file.descriptor(), before.st_mode & 0777) != 0) {
    return file_error("write", path, errno);
  }
  if (fsync(file.descriptor()) != 0) return file_error("force to disk", path, errno);
  if (file.close_now() != 0) return file_error("write", path, errno);
  if (rename(temporary.c_str(), path.c_str()) != 0) return file_error("replace", path, errno);
  file.keep();

  const int directory = open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return file_error("force to disk the directory of", path, errno);
  OpenFile opened(directory);
  // Some file systems cannot force a directory (EINVAL); the file itself is safe all the same.
  if (fsync(directory) != 0 && errno != EINVAL) {
    return file_error("force to disk the directory of", path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<char>> read_whole_file(const std::string& path) {
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait
  if (file.descriptor() < 0) return file_error("open", path, errno);
  struct stat found;
  if (fstat(file.descriptor(), &found) != 0) return file_error("read", path, errno);
  if (!S_ISREG(found.st_mode)) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("cannot read ", path, ": not a regular file"));
  }
  std::vector<char> bytes(static_cast<size_t>(found.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file.descriptor(), bytes.data() + have, bytes.size() - have);
    if (got < 0) {
      if (errno == EINTR) continue;
      return file_error("read", path, errno);
    }
    if (got == 0) break;  // it shrank meanwhile; its reader notices
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace quiesce::nn
