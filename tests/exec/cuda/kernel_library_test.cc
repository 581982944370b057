#include "exec/kernels/cuda/kernel_library.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include "quiesce/errors.h"

namespace quiesce::exec::kernels::cuda {
namespace {

TEST(KernelLibrary, TheFatbinIsEmbeddedWithItsMagicAndAlignment) {
  const absl::string_view fatbin = embedded_fatbin();
  ASSERT_GT(fatbin.size(), 16u);
  uint32_t magic;
  std::memcpy(&magic, fatbin.data(), sizeof(magic));
  EXPECT_EQ(magic, 0xBA55ED50u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(fatbin.data()) % 64, 0u);
}

TEST(KernelLibrary, ThereIsCodeForEveryChipAndPtxForTheOthers) {
  const auto codes = fatbin_codes(embedded_fatbin());
  ASSERT_TRUE(codes.ok()) << codes.status();
  std::set<int> machine, ptx;
  for (const FatbinCode& code : *codes) {
    (code.kind == FatbinCode::Kind::kPtx ? ptx : machine).insert(code.architecture);
  }
  EXPECT_EQ(machine, (std::set<int>{75, 80, 86, 89, 90, 100, 120}));
  EXPECT_EQ(ptx, (std::set<int>{75, 120}));
}

TEST(KernelLibrary, KernelNamesAreUniqueAndSymbolsCarryThePrefix) {
  std::set<std::string> names;
  for (const FatbinKernel& kernel : fatbin_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(std::string(kernel.symbol), "quiesce_" + std::string(kernel.name));
    EXPECT_GT(kernel.argument_bytes, 0u) << kernel.name;
    EXPECT_LE(kernel.argument_bytes, 4096u) << kernel.name;
  }
  EXPECT_EQ(names.count("relu"), 1u);
  EXPECT_EQ(names.count("adam"), 1u);
}

TEST(KernelLibrary, WhatIsNoFatbinIsToldFrom) {
  const std::string fatbin(embedded_fatbin());
  std::string wrong_magic = fatbin;
  wrong_magic[0] ^= 1;
  EXPECT_EQ(error_kind(fatbin_codes(wrong_magic).status()), ErrorKind::kCorruptData);
  EXPECT_EQ(error_kind(fatbin_codes("").status()), ErrorKind::kCorruptData);
  EXPECT_EQ(error_kind(fatbin_codes(fatbin.substr(0, fatbin.size() / 2)).status()),
            ErrorKind::kCorruptData);
  std::string long_entry = fatbin;
  long_entry[16 + 8 + 6] = 1;  // the first entry's body grows by 2^48 bytes
  EXPECT_EQ(error_kind(fatbin_codes(long_entry).status()), ErrorKind::kCorruptData);
}

// The compiler's own report of one chip's code, made by the build beside the fatbin: every kernel
// of the list is in it, and none has a stack frame (a kernel that spills raises the device's floor
// for good).
TEST(KernelLibrary, EveryKernelOfTheListIsCompiledWithoutAStackFrame) {
  std::string report;
  if (std::FILE* file = std::fopen(QUIESCE_PTXAS_REPORT, "r")) {
    char text[4096];
    while (size_t got = std::fread(text, 1, sizeof(text), file)) report.append(text, got);
    std::fclose(file);
  }
  ASSERT_FALSE(report.empty()) << QUIESCE_PTXAS_REPORT;
  for (const FatbinKernel& kernel : fatbin_kernels()) {
    const std::string heading = std::string("Function properties for ") + kernel.symbol + "\n";
    const size_t at = report.find(heading);
    ASSERT_NE(at, std::string::npos) << kernel.symbol << " is not in the fatbin";
    const std::string properties = report.substr(at + heading.size(), 80);
    EXPECT_NE(properties.find(" 0 bytes stack frame"), std::string::npos)
        << kernel.symbol << ": " << properties.substr(0, properties.find('\n'));
  }
}

}  // namespace
}  // namespace quiesce::exec::kernels::cuda
