// IDX files: a magic number, extents (big-endian), bytes. Read through zlib, which takes plain
// files as they are.
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/dataset.h"
#include "quiesce/errors.h"

namespace quiesce {
namespace {

constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr uint32_t kImagesMagic = 0x00000803;
constexpr size_t kPiece = size_t{8}
                          << 20;  // read at a time, so that a lying header costs no memory

absl::Status corrupt(const std::string& path, absl::string_view what) {
  return base::make_error(ErrorKind::kCorruptData, absl::StrCat(path, ": ", what));
}

// Thread word: thread-compatible.
class IdxFile {
 public:
  static absl::StatusOr<IdxFile> open(const std::string& path) {
    struct stat found;
    if (stat(path.c_str(), &found) != 0) {
      return base::make_error(ErrorKind::kInvalidArgument,
                              absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
    }
    if (!S_ISREG(found.st_mode)) {
      return base::make_error(ErrorKind::kInvalidArgument,
                              absl::StrCat("cannot read ", path, ": not a regular file"));
    }
    errno = 0;
    gzFile file = gzopen(path.c_str(), "rbe");
    if (file == nullptr) {
      return base::make_error(
          ErrorKind::kInvalidArgument,
          absl::StrCat("cannot open ", path, ": ", std::strerror(errno != 0 ? errno : ENOMEM)));
    }
    gzbuffer(file, 256 * 1024);
    return IdxFile(path, file);
  }

  // Extents after a magic number that must be `magic`.
  absl::StatusOr<std::vector<uint32_t>> read_header(uint32_t magic) {
    QUIESCE_ASSIGN_OR_RETURN(const uint32_t found, read_number());
    if (found != magic) {
      return corrupt(
          path_, absl::StrCat("not an IDX file of ", magic == kImagesMagic ? "images" : "labels",
                              ": magic number is 0x", absl::Hex(found, absl::kZeroPad8),
                              ", expected 0x", absl::Hex(magic, absl::kZeroPad8)));
    }
    std::vector<uint32_t> extents(magic & 0xFF);
    for (uint32_t& extent : extents) {
      QUIESCE_ASSIGN_OR_RETURN(extent, read_number());
    }
    return extents;
  }

  // The rest of the file, which must be `expected` bytes.
  absl::StatusOr<std::vector<uint8_t>> read_body(uint64_t expected) {
    std::vector<uint8_t> body;
    while (body.size() < expected) {
      const size_t have = body.size();
      const size_t want = std::min<uint64_t>(kPiece, expected - have);
      if (body.capacity() < have + want) {
        body.reserve(std::min<uint64_t>(expected, std::max(2 * have, size_t{64} << 20)));
      }
      body.resize(have + want);
      QUIESCE_ASSIGN_OR_RETURN(const size_t got, read(body.data() + have, want));
      if (got < want) {
        return corrupt(path_, absl::StrCat("truncated: its header promises ", expected,
                                           " bytes of data, it has ", have + got));
      }
    }
    uint8_t more = 0;
    QUIESCE_ASSIGN_OR_RETURN(const size_t extra, read(&more, 1));
    if (extra != 0) {
      return corrupt(path_, absl::StrCat("has more than the ", expected,
                                         " bytes of data its header promises"));
    }
    return body;
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  IdxFile(std::string path, gzFile file) : path_(std::move(path)), file_(file) {}

  absl::StatusOr<size_t> read(void* to, size_t bytes) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(bytes));
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    if (got < 0 || code == Z_DATA_ERROR) {
      return corrupt(path_,
                     absl::StrCat("damaged: ", code == Z_ERRNO ? std::strerror(errno) : text));
    }
    // Z_BUF_ERROR: the compressed data end too early; the caller sees too few bytes. At the very
    // end it still means that the checksum is missing.
    if (code == Z_BUF_ERROR && static_cast<size_t>(got) < bytes) {
      return corrupt(path_, "truncated: its compressed data end too early");
    }
    return static_cast<size_t>(got);
  }

  absl::StatusOr<uint32_t> read_number() {
    uint8_t bytes[4];
    QUIESCE_ASSIGN_OR_RETURN(const size_t got, read(bytes, sizeof(bytes)));
    if (got < sizeof(bytes)) return corrupt(path_, "truncated: it ends within its header");
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

bool file_exists(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0;
}

// The plain file, or, when there is none, the gzipped one.
std::string find_part(const std::string& directory, absl::string_view part) {
  const std::string plain = absl::StrCat(directory, "/", part);
  const std::string packed = absl::StrCat(plain, ".gz");
  return !file_exists(plain) && file_exists(packed) ? packed : plain;
}

absl::Status check_counts(const std::string& images_path, const Tensor& images,
                          const std::string& labels_path, const Tensor& labels) {
  if (images.size() == labels.size()) return absl::OkStatus();
  return base::make_error(
      ErrorKind::kCorruptData,
      absl::StrCat(images_path, " has ", images.size(), " images, ", labels_path, " has ",
                   labels.size(), " labels; they must be equally many"));
}

}  // namespace

absl::StatusOr<Tensor> read_idx_images(const std::string& path) {
  QUIESCE_ASSIGN_OR_RETURN(IdxFile file, IdxFile::open(path));
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<uint32_t> extents, file.read_header(kImagesMagic));
  uint64_t bytes = 1;
  for (uint32_t extent : extents) {
    if (extent == 0 || __builtin_mul_overflow(bytes, uint64_t{extent}, &bytes) ||
        bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return corrupt(path, absl::StrCat("its header says ", extents[0], " images of ", extents[1],
                                        " x ", extents[2], " bytes"));
    }
  }
  QUIESCE_ASSIGN_OR_RETURN(std::vector<uint8_t> body, file.read_body(bytes));
  return Tensor::from(std::move(body), Shape{extents[0], extents[1], extents[2]});
}

absl::StatusOr<Tensor> read_idx_labels(const std::string& path, int classes) {
  QUIESCE_ASSIGN_OR_RETURN(IdxFile file, IdxFile::open(path));
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<uint32_t> extents, file.read_header(kLabelsMagic));
  if (extents[0] == 0) return corrupt(path, "its header says 0 labels");
  QUIESCE_ASSIGN_OR_RETURN(std::vector<uint8_t> body, file.read_body(extents[0]));
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] >= classes) {
      return corrupt(path, absl::StrCat("label ", i, " is ", static_cast<int>(body[i]), "; with ",
                                        classes, " classes they end at ", classes - 1));
    }
  }
  return Tensor::from(std::move(body), Shape{extents[0]});
}

absl::StatusOr<LabeledImages> load_idx_dataset(const std::string& directory, int classes) {
  const std::string x_train = find_part(directory, "train-images-idx3-ubyte");
  const std::string y_train = find_part(directory, "train-labels-idx1-ubyte");
  const std::string x_test = find_part(directory, "t10k-images-idx3-ubyte");
  const std::string y_test = find_part(directory, "t10k-labels-idx1-ubyte");
  // Labels first: they are small, so that what is wrong with them is known at once.
  LabeledImages data;
  QUIESCE_ASSIGN_OR_RETURN(data.y_train, read_idx_labels(y_train, classes));
  QUIESCE_ASSIGN_OR_RETURN(data.y_test, read_idx_labels(y_test, classes));
  QUIESCE_ASSIGN_OR_RETURN(data.x_test, read_idx_images(x_test));
  QUIESCE_RETURN_IF_ERROR(check_counts(x_test, data.x_test, y_test, data.y_test));
  QUIESCE_ASSIGN_OR_RETURN(data.x_train, read_idx_images(x_train));
  QUIESCE_RETURN_IF_ERROR(check_counts(x_train, data.x_train, y_train, data.y_train));
  if (data.x_train.shape().sample() != data.x_test.shape().sample()) {
    return base::make_error(
        ErrorKind::kCorruptData,
        absl::StrCat("images of ", x_train, " are ", data.x_train.shape().sample().to_string(),
                     ", those of ", x_test, " are ", data.x_test.shape().sample().to_string()));
  }
  return data;
}

absl::StatusOr<LabeledImages> load_fashion_mnist(const std::string& directory) {
  absl::StatusOr<LabeledImages> data = load_idx_dataset(directory, 10);
  if (!data.ok() && error_kind(data.status()) == ErrorKind::kInvalidArgument &&
      directory == kFashionMnistDirectory) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat(data.status().message(),
                                         "; install the package dataset-fashion-mnist, or name a "
                                         "directory that holds its four files"));
  }
  return data;
}

}  // namespace quiesce
