#include "nn/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "fixtures.h"
#include "nn/atomic_file.h"

namespace quiesce::nn {
namespace {

using nn_testing::message;
using nn_testing::TemporaryDirectory;

std::string with_header(const std::string& json, const std::string& body = "") {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> (8 * i));
  return bytes + json + body;
}

class SafetensorsTest : public ::testing::Test {
 protected:
  void write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  }
  ErrorKind kind_of(const std::string& bytes) {
    write(bytes);
    const absl::StatusOr<TensorFile> read = read_safetensors(path_);
    if (!read.ok()) {
      EXPECT_NE(read.status().message().find(path_), absl::string_view::npos) << read.status();
      EXPECT_EQ(read.status().message().find('\n'), absl::string_view::npos);
    }
    return error_kind(read.status());
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.file("model.safetensors");
};

TEST_F(SafetensorsTest, WhatIsWrittenIsRead) {
  TensorFile file;
  file.metadata["format"] = "quiesce";
  file.tensors.emplace_back(
      "dense/kernel", Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape{2, 3}).value());
  file.tensors.emplace_back("labels", Tensor::from(std::vector<uint8_t>{7, 8, 9}));
  file.tensors.emplace_back("steps", Tensor::from(std::vector<int64_t>{1LL << 40}));
  file.tensors.emplace_back("nothing", Tensor());
  ASSERT_STATUS_OK(write_safetensors(path_, file));
  EXPECT_EQ(directory_.entries(), 1u);

  const absl::StatusOr<TensorFile> read = read_safetensors(path_);
  ASSERT_STATUS_OK(read.status());
  EXPECT_EQ(read->metadata.at("format"), "quiesce");
  ASSERT_EQ(read->tensors.size(), 4u);
  const Tensor* kernel = read->find("dense/kernel");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->shape(), (Shape{2, 3}));
  EXPECT_EQ(kernel->span<float>()[5], 6);
  EXPECT_EQ(read->find("labels")->span<uint8_t>()[2], 9);
  EXPECT_EQ(read->find("steps")->span<int64_t>()[0], 1LL << 40);
  EXPECT_EQ(read->find("kernel"), nullptr);
}

TEST_F(SafetensorsTest, EveryTruncationIsNoticed) {
  TensorFile file;
  file.tensors.emplace_back("w", Tensor::from(std::vector<float>{1, 2, 3}));
  ASSERT_STATUS_OK(write_safetensors(path_, file));
  std::vector<char> whole = read_whole_file(path_).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(kind_of(std::string(whole.data(), size)), ErrorKind::kCorruptData)
        << size << " bytes";
  }
}

TEST_F(SafetensorsTest, DamageIsNoticed) {
  const std::string four(4, '\0');
  EXPECT_EQ(kind_of(with_header("[1]")), ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header("{\"w\":")), ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header(R"({"w":{"dtype":"F32","shape":[1]}})", four)),
            ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four)),
            ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                four + four)),
            ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                four + four)),
            ErrorKind::kCorruptData);
  EXPECT_EQ(
      kind_of(with_header(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four)),
      ErrorKind::kCorruptData);
  EXPECT_EQ(
      kind_of(with_header(
          R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", four)),
      ErrorKind::kCorruptData);
  EXPECT_EQ(kind_of(with_header(R"({"__metadata__":{"a":1}})")), ErrorKind::kCorruptData);
  std::string huge(8, '\xff');
  EXPECT_EQ(kind_of(huge), ErrorKind::kCorruptData);
  EXPECT_EQ(
      kind_of(with_header(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", four)),
      ErrorKind::kUnsupported);
}

TEST_F(SafetensorsTest, MissingFilesAndDirectoriesAreRefused) {
  EXPECT_EQ(error_kind(read_safetensors(directory_.file("none")).status()),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(read_safetensors(directory_.path()).status()), ErrorKind::kInvalidArgument);
}

TEST_F(SafetensorsTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  TensorFile file;
  file.tensors.emplace_back("w", Tensor::from(std::vector<float>{1, 2, 3}));
  ASSERT_STATUS_OK(write_safetensors(path_, file));
  EXPECT_EQ(error_kind(write_safetensors(directory_.file("no/such/place"), file)),
            ErrorKind::kInvalidArgument);
  // A directory cannot be replaced by a file.
  const std::string taken = directory_.file("taken");
  std::filesystem::create_directory(taken);
  EXPECT_EQ(error_kind(write_safetensors(taken, file)), ErrorKind::kInvalidArgument);
  EXPECT_EQ(directory_.entries(), 2u);
  EXPECT_STATUS_OK(read_safetensors(path_).status());
}

}  // namespace
}  // namespace quiesce::nn
