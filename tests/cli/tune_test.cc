// The program, run as a user runs it, on small made-up data sets.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/cli.h"
#include "tests/cli/process.h"

namespace quiesce::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

constexpr uint32_t kSide = 6;

// Images whose brightness tells the class, more or less.
std::string images(uint32_t count) {
  std::string text = big_endian(0x803) + big_endian(count) + big_endian(kSide) + big_endian(kSide);
  uint32_t noise = 1;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t pixel = 0; pixel < kSide * kSide; ++pixel) {
      noise = noise * 1664525 + 1013904223;
      const bool is_lit = pixel % 10 == i % 10;
      text += static_cast<char>((is_lit ? 150 : 0) + (noise >> 24) % 100);
    }
  }
  return text;
}

std::string labels(uint32_t count, uint32_t classes = 10) {
  std::string text = big_endian(0x801) + big_endian(count);
  for (uint32_t i = 0; i < count; ++i) text += static_cast<char>(i % classes);
  return text;
}

class TuneTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "quiesce-tune-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    write_data();
  }
  void write_data() const {
    write("train-images-idx3-ubyte", images(400));
    write("train-labels-idx1-ubyte", labels(400));
    write("t10k-images-idx3-ubyte", images(100));
    write("t10k-labels-idx1-ubyte", labels(100));
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  void write(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
  }
  Arguments tune(const Arguments& more = {}) const {
    Arguments arguments = {"tune", "--data", directory_.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Ran run(const Arguments& more = {}) const { return run_program(tune(more)); }
  Json json(const std::string& name) const {
    std::ifstream file(path(name));
    return Json::parse(file);
  }

  fs::path directory_;
};

void expect_one_line(const Ran& ran, int exit_code, const std::string& part) {
  EXPECT_EQ(ran.exit_code, exit_code) << ran.out << ran.err;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.err, part)) << ran.err;
}

TEST_F(TuneTest, PrintsALinePerTrialTheTableTheBestTheClearAndTheMemory) {
  const Ran ran = run({"--epochs", "2"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(absl::StrContains(ran.out, (i < 10 ? "trial  " : "trial ") + std::to_string(i)))
        << ran.out;
  }
  for (const char* part : {"val_accuracy", "best    trial", "test accuracy",
                           "16 complete, 0 failed", "memory  in use 0 B"}) {
    EXPECT_TRUE(absl::StrContains(ran.out, part)) << part << "\n" << ran.out;
  }
  EXPECT_FALSE(absl::StrContains(ran.out, "\x1b")) << "escape codes in a pipe";
}

TEST_F(TuneTest, TheJsonHoldsTrialsBestClearAndMemory) {
  const Ran ran = run({"--trials", "3", "--epochs", "2", "--json", path("a.json")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json result = json("a.json");
  ASSERT_EQ(result["trials"].size(), 3u);
  for (const Json& trial : result["trials"]) {
    EXPECT_EQ(trial["state"], "complete");
    EXPECT_EQ(trial["reason"], "");
    ASSERT_EQ(trial["epochs"].size(), 2u);
    for (const char* key : {"loss", "accuracy", "val_loss", "val_accuracy"}) {
      EXPECT_TRUE(trial["epochs"][1][key].is_number()) << key;
    }
    EXPECT_EQ(trial["value"], trial["epochs"][1]["val_accuracy"]);
    EXPECT_GT(trial["peak_bytes"], 0);
    EXPECT_GT(trial["seconds"], 0.0);
    EXPECT_TRUE(trial["params"]["learning_rate"].is_number_float());
    EXPECT_TRUE(trial["params"]["units"].is_number_integer());
  }
  EXPECT_TRUE(result["best"]["test_accuracy"].is_number());
  // The final clear, and it found nothing held.
  EXPECT_EQ(result["clear"]["clears"], 1);
  EXPECT_EQ(result["clear"]["sessions_retired"], result["clear"]["sessions_reclaimed"]);
  EXPECT_EQ(result["clear"]["sessions_held"], 0);
  EXPECT_EQ(result["memory"]["in_use"], 0);
  EXPECT_EQ(result["memory"]["cached"], 0);
  EXPECT_GT(result["memory"]["released"], 0);
  EXPECT_EQ(result["memory"]["baseline"], 0);
  EXPECT_FALSE(absl::StrContains(ran.out, "a.json."));
}

// trials[] without what may differ from run to run.
Json values_of(const Json& result) {
  Json values = Json::array();
  for (Json trial : result["trials"]) {
    trial.erase("seconds");
    values.push_back(std::move(trial));
  }
  return values;
}

TEST_F(TuneTest, ResultsAreEqualToTheBitForAnyThreadsAndClears) {
  ASSERT_EQ(run({"--threads", "1", "--epochs", "2", "--json", path("1.json")}).exit_code, 0);
  const Json alone = json("1.json");
  for (const char* threads : {"2", "4", "8"}) {
    const Ran ran = run(
        {"--threads", threads, "--epochs", "2", "--clear-every", "1ms", "--json", path("n.json")});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const Json together = json("n.json");
    EXPECT_EQ(values_of(together), values_of(alone)) << threads << " threads";
    EXPECT_EQ(together["best"], alone["best"]);
    EXPECT_EQ(together["clear"]["sessions_held"], 0);
    EXPECT_EQ(together["memory"]["in_use"], 0);
  }
}

TEST_F(TuneTest, ARandomSearchIsOfItsSeed) {
  const Arguments common = {"--sampler", "random", "--trials",     "5",     "--epochs",
                            "1",         "--json", path("r.json"), "--seed"};
  const auto run_with_seed = [&](const char* seed) {
    Arguments arguments = common;
    arguments.push_back(seed);
    EXPECT_EQ(run(arguments).exit_code, 0);
    return values_of(json("r.json"));
  };
  const Json first = run_with_seed("7");
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(run_with_seed("7"), first);
  EXPECT_NE(run_with_seed("8"), first);
}

TEST_F(TuneTest, DataFilesAreCheckedBeforeAnythingRuns) {
  expect_one_line(run_program({"tune", "--data", "/no/such/directory"}), kExitFailed,
                  "/no/such/directory");
  const struct {
    const char* name;
    std::string contents;
  } broken[] = {
      {"train-images-idx3-ubyte", "not a data set"},
      {"train-images-idx3-ubyte", ""},
      {"train-images-idx3-ubyte", images(400).substr(0, 5000)},
      {"train-images-idx3-ubyte", images(399)},
      {"train-labels-idx1-ubyte", labels(400, 11)},
      {"t10k-labels-idx1-ubyte", labels(99)},
      {"t10k-images-idx3-ubyte", labels(100)},
  };
  for (const auto& [name, contents] : broken) {
    write_data();
    write(name, contents);
    const Ran ran = run({"--json", path("never.json")});
    const std::string stem(name, std::string(name).find('-'));
    expect_one_line(ran, kExitFailed, stem);
    EXPECT_FALSE(fs::exists(path("never.json")));
    EXPECT_FALSE(absl::StrContains(ran.out, "trial"));
  }
}

TEST_F(TuneTest, AJsonPathThatCannotBeWrittenIsFoundBeforeTheTrials) {
  for (const std::string& bad : {path("missing/a.json"), directory_.string()}) {
    const Ran ran = run({"--json", bad});
    expect_one_line(ran, kExitFailed, bad);
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(TuneTest, WrongUsageExitsWithTwoAndOneLine) {
  expect_one_line(run({"--nonsense"}), kExitUsage, "--nonsense");
  expect_one_line(run({"--trials", "0"}), kExitUsage, "--trials wants");
  expect_one_line(run({"--learning-rates", "-1"}), kExitUsage, "--learning-rates wants");
  expect_one_line(run_program({}), kExitUsage, "say what to do");
}

TEST_F(TuneTest, AQuotaTooSmallForTheFirstLayerIsSaidInOneLine) {
  const Ran ran = run({"--quota", "256", "--json", path("q.json")});
  expect_one_line(ran, kExitFailed, "no trial completed; trial 0: out of memory");
  // And nothing is lost: the results say it trial by trial.
  const Json result = json("q.json");
  EXPECT_EQ(result["trials"].size(), 16u);
  EXPECT_TRUE(absl::StartsWith(result["trials"][15]["reason"].get<std::string>(), "out of memory"));
  EXPECT_TRUE(result["best"].is_null());
}

TEST_F(TuneTest, ATimeoutEndsATrialAndKeepsItsEpochs) {
  const Ran ran = run({"--trials", "2", "--epochs", "100000000", "--trial-timeout", "200ms",
                       "--json", path("t.json")});
  EXPECT_EQ(ran.exit_code, kExitFailed);
  const Json result = json("t.json");
  for (const Json& trial : result["trials"]) {
    EXPECT_EQ(trial["state"], "failed");
    EXPECT_TRUE(absl::StartsWith(trial["reason"].get<std::string>(), "timeout")) << trial["reason"];
  }
}

TEST_F(TuneTest, CtrlCStopsWithinABatchKeepsWhatIsFinishedAndExitsWith130) {
  // Trial 0 ends by its timeout; the others are still running when the signal comes.
  Process process(tune({"--threads", "1", "--epochs", "100000000", "--trial-timeout", "300ms",
                        "--json", path("i.json")}));
  ASSERT_TRUE(process.wait_for("trial  0"));
  process.signal(SIGINT);
  const Ran ran = process.wait();
  EXPECT_EQ(ran.exit_code, kExitInterrupted) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.err, "stopping at the next batch"));
  EXPECT_TRUE(absl::StrContains(ran.out, "memory  in use 0 B")) << ran.out;
  const Json result = json("i.json");
  ASSERT_GE(result["trials"].size(), 1u);
  EXPECT_LT(result["trials"].size(), 16u);
  EXPECT_EQ(result["trials"][0]["state"], "failed");
  EXPECT_EQ(result["memory"]["in_use"], 0);
}

TEST_F(TuneTest, ASecondCtrlCLeavesAtOnce) {
  Process process(tune({"--epochs", "100000000"}));
  ASSERT_TRUE(process.wait_for("search"));
  process.signal(SIGINT);
  ASSERT_TRUE(process.wait_for("stopping"));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().exit_code, kExitInterrupted);
}

TEST_F(TuneTest, FewSamplesAreEnough) {
  const Ran ran = run({"--limit-samples", "10", "--trials", "1", "--epochs", "1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "10 images to train on")) << ran.out;
}

TEST(ProgramTest, FailsWhenItsOutputCannotBeWritten) {
  const std::string command = "'" QUIESCE_PROGRAM "' --version";
  EXPECT_EQ(std::system((command + " > /dev/full 2> /dev/null").c_str()), kExitFailed << 8);
  EXPECT_EQ(std::system((command + " >&- 2>&-").c_str()), 0) << "nobody asked for it";
}

TEST(ProgramTest, ListsDevicesAndTellsItsVersion) {
  const Ran devices = run_program({"devices"});
  EXPECT_EQ(devices.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(devices.out, "host")) << devices.out;
  const Ran version = run_program({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(absl::StartsWith(version.out, "quiesce "));
  EXPECT_EQ(run_program({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace quiesce::cli
