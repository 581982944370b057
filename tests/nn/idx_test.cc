#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "fixtures.h"
#include "quiesce/dataset.h"

namespace quiesce {
namespace {

using nn_testing::message;
using nn_testing::TemporaryDirectory;

std::string number(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

std::string images(uint32_t count, uint32_t rows, uint32_t columns) {
  std::string bytes = number(0x803) + number(count) + number(rows) + number(columns);
  for (uint32_t i = 0; i < count * rows * columns; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

std::string labels(std::vector<uint8_t> values) {
  return number(0x801) + number(static_cast<uint32_t>(values.size())) +
         std::string(values.begin(), values.end());
}

class IdxTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.file(name);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
    return path;
  }
  std::string write_packed(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.file(name);
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void write_dataset(uint32_t train, uint32_t train_labels, uint32_t test) {
    write_packed("train-images-idx3-ubyte.gz", images(train, 2, 3));
    write_packed("train-labels-idx1-ubyte.gz", labels(std::vector<uint8_t>(train_labels, 4)));
    write("t10k-images-idx3-ubyte", images(test, 2, 3));
    write("t10k-labels-idx1-ubyte", labels(std::vector<uint8_t>(test, 9)));
  }
  // One line that names the file.
  static void expect_corrupt(const absl::Status& status, const std::string& what) {
    EXPECT_EQ(error_kind(status), ErrorKind::kCorruptData) << status;
    EXPECT_NE(status.message().find(what), absl::string_view::npos) << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }

  TemporaryDirectory directory_;
};

TEST_F(IdxTest, ReadsPlainAndPackedFiles) {
  const std::string bytes = images(3, 2, 4);
  for (const std::string& path : {write("plain", bytes), write_packed("packed.gz", bytes)}) {
    const absl::StatusOr<Tensor> read = read_idx_images(path);
    ASSERT_STATUS_OK(read.status());
    EXPECT_EQ(read->shape(), (Shape{3, 2, 4}));
    EXPECT_EQ(read->dtype(), DType::kUInt8);
    EXPECT_EQ(read->span<uint8_t>()[23], 23);
  }
  const absl::StatusOr<Tensor> read = read_idx_labels(write("labels", labels({0, 9, 5})));
  ASSERT_STATUS_OK(read.status());
  EXPECT_EQ(read->shape(), (Shape{3}));
  EXPECT_EQ(read->span<uint8_t>()[1], 9);
}

TEST_F(IdxTest, MissingFilesAreNamed) {
  const absl::Status status = read_idx_images(directory_.file("none")).status();
  EXPECT_EQ(error_kind(status), ErrorKind::kInvalidArgument);
  EXPECT_NE(status.message().find("none"), absl::string_view::npos) << status;
  EXPECT_EQ(error_kind(read_idx_images(directory_.path()).status()), ErrorKind::kInvalidArgument);
}

TEST_F(IdxTest, BadMagicIsNoticed) {
  expect_corrupt(read_idx_images(write("a", labels({1, 2}))).status(), "magic");
  expect_corrupt(read_idx_labels(write("b", images(1, 2, 2))).status(), "magic");
  expect_corrupt(read_idx_labels(write("c", "hello, world")).status(), "magic");
}

TEST_F(IdxTest, EveryTruncationOfAPlainFileIsNoticed) {
  const std::string whole = images(2, 2, 2);
  for (size_t size = 0; size < whole.size(); ++size) {
    expect_corrupt(read_idx_images(write("cut", whole.substr(0, size))).status(), "truncated");
  }
}

TEST_F(IdxTest, EveryTruncationOfAPackedFileIsNoticed) {
  const std::string path = write_packed("whole.gz", images(2, 5, 5));
  const std::string whole = contents(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::Status status = read_idx_images(write("cut.gz", whole.substr(0, size))).status();
    EXPECT_EQ(error_kind(status), ErrorKind::kCorruptData) << size << " bytes: " << status;
  }
}

TEST_F(IdxTest, DamagedCompressionIsNoticed) {
  const std::string path = write_packed("whole.gz", images(20, 10, 10));
  std::string bytes = contents(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  EXPECT_EQ(error_kind(read_idx_images(write("damaged.gz", bytes)).status()),
            ErrorKind::kCorruptData);
}

TEST_F(IdxTest, ExtraBytesAreNoticed) {
  expect_corrupt(read_idx_labels(write("long", labels({1, 2}) + "x")).status(), "more than");
}

TEST_F(IdxTest, AHeaderThatPromisesTheMoonCostsNothing) {
  const std::string lying = number(0x803) + number(0xffffffff) + number(0xffff) + number(0xff);
  expect_corrupt(read_idx_images(write("lying", lying)).status(), "truncated");
  const std::string overflowing =
      number(0x803) + number(0xffffffff) + number(0xffffffff) + number(0xffffffff);
  expect_corrupt(read_idx_images(write("overflowing", overflowing)).status(), "header");
  expect_corrupt(read_idx_images(write("empty", images(0, 2, 2))).status(), "header");
}

TEST_F(IdxTest, LabelsOutOfRangeAreNoticed) {
  expect_corrupt(read_idx_labels(write("labels", labels({1, 10, 2}))).status(), "label 1 is 10");
  EXPECT_STATUS_OK(read_idx_labels(write("labels", labels({1, 10, 2})), 11).status());
}

TEST_F(IdxTest, LoadsADirectory) {
  write_dataset(6, 6, 2);
  const absl::StatusOr<LabeledImages> data = load_idx_dataset(directory_.path());
  ASSERT_STATUS_OK(data.status());
  EXPECT_EQ(data->x_train.shape(), (Shape{6, 2, 3}));
  EXPECT_EQ(data->y_test.span<uint8_t>()[1], 9);
}

TEST_F(IdxTest, CountsThatDifferAreNoticed) {
  write_dataset(6, 5, 2);
  expect_corrupt(load_idx_dataset(directory_.path()).status(), "equally many");
}

TEST_F(IdxTest, FashionMnistIsThere) {
  if (!std::filesystem::exists(std::string(kFashionMnistDirectory))) {
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  const absl::StatusOr<LabeledImages> data = load_fashion_mnist();
  ASSERT_STATUS_OK(data.status());
  EXPECT_EQ(data->x_train.shape(), (Shape{60000, 28, 28}));
  EXPECT_EQ(data->y_train.shape(), (Shape{60000}));
  EXPECT_EQ(data->x_test.shape(), (Shape{10000, 28, 28}));
}

}  // namespace
}  // namespace quiesce
