#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "quiesce/errors.h"
#include "quiesce/trials.h"
#include "trials/format.h"
#include "trials/json.h"
#include "trials/outcome.h"
#include "trials/progress.h"
#include "trials/result_file.h"

namespace quiesce {
namespace {

namespace fs = std::filesystem;

StudyResult sample_study() {
  StudyResult study;
  study.value_name = "val_accuracy";
  TrialResult good;
  good.number = 0;
  good.params = {{"learning_rate", 1e-3}, {"units", int64_t{128}}};
  trials::set_outcome(0.875, good);
  Logs logs;
  logs.set("loss", 0.5);
  logs.set("val_accuracy", 0.875);
  good.epochs = {logs};
  good.peak_bytes = 3 << 20;
  good.seconds = 1.5;
  TrialResult bad;
  bad.number = 1;
  bad.params = {{"learning_rate", 10.0}, {"units", int64_t{64}}};
  trials::set_outcome(std::numeric_limits<double>::quiet_NaN(), bad);
  logs.set("loss", std::numeric_limits<double>::quiet_NaN());
  bad.epochs = {logs};
  study.trials = {good, bad};
  study.best = 0;
  return study;
}

TEST(TableTest, HasALinePerTrialAndMarksTheBest) {
  EXPECT_EQ(
      sample_study().to_table(),
      "trial  learning_rate  units  val_accuracy     peak  seconds  state\n"
      "0 *            0.001    128        0.8750  3.0 MiB     1.50  complete\n"
      "1                 10     64             -      0 B     0.00  not a number: the objective "
      "returned nan\n");
}

TEST(TableTest, OfNoTrialsIsItsHeader) {
  StudyResult study;
  study.value_name = "value";
  EXPECT_EQ(study.to_table(), "trial  value  peak  seconds  state\n");
}

TEST(FormatTest, LongTexts) {
  EXPECT_EQ(trials::shorten("one\ntwo", 10), "one");
  EXPECT_EQ(trials::shorten("0123456789abc", 10), "0123456...");
}

TEST(JsonTest, HoldsWhatTheTableHoldsAndMore) {
  trials::StudyFigures figures;
  figures.totals.clears = 7;
  figures.totals.sessions_retired = 5;
  figures.totals.sessions_reclaimed = 4;
  figures.totals.sessions_held = 1;
  figures.baseline = 12;
  figures.best_test.set("accuracy", 0.75);
  const auto json = nlohmann::json::parse(trials::study_to_json(sample_study(), figures));
  ASSERT_EQ(json["trials"].size(), 2u);
  const auto& good = json["trials"][0];
  EXPECT_EQ(good["number"], 0);
  EXPECT_EQ(good["params"]["learning_rate"], 1e-3);
  EXPECT_EQ(good["params"]["units"], 128);
  EXPECT_EQ(good["state"], "complete");
  EXPECT_EQ(good["reason"], "");
  EXPECT_EQ(good["value"], 0.875);
  EXPECT_EQ(good["epochs"][0]["val_accuracy"], 0.875);
  EXPECT_EQ(good["peak_bytes"], 3 << 20);
  EXPECT_EQ(good["seconds"], 1.5);
  const auto& bad = json["trials"][1];
  EXPECT_EQ(bad["state"], "failed");
  EXPECT_EQ(bad["reason"], "not a number: the objective returned nan");
  EXPECT_TRUE(bad["value"].is_null());
  EXPECT_TRUE(bad["epochs"][0]["loss"].is_null());
  EXPECT_EQ(json["best"]["number"], 0);
  EXPECT_EQ(json["best"]["test_accuracy"], 0.75);
  EXPECT_EQ(json["clear"]["clears"], 7);
  EXPECT_EQ(json["clear"]["sessions_retired"], 5);
  EXPECT_EQ(json["clear"]["sessions_reclaimed"], 4);
  EXPECT_EQ(json["clear"]["sessions_held"], 1);
  EXPECT_EQ(json["memory"]["in_use"], 0);
  EXPECT_EQ(json["memory"]["baseline"], 12);
  EXPECT_TRUE(json["memory"].contains("cached") && json["memory"].contains("released"));
}

TEST(JsonTest, SurvivesAReasonThatIsNotText) {
  StudyResult study = sample_study();
  study.trials[0].reason = "\xff\xfe broken";
  study.best.reset();
  const auto json = nlohmann::json::parse(trials::study_to_json(study, {}));
  EXPECT_TRUE(json["best"].is_null());
}

class ResultFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "quiesce-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string read(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  fs::path directory_;
};

TEST_F(ResultFileTest, AppearsWholeAndLeavesNothingBeside) {
  const fs::path path = directory_ / "a.json";
  ASSERT_TRUE(trials::check_writable(path).ok());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(trials::write_result_file(path, "one").ok());
  ASSERT_TRUE(trials::write_result_file(path, "two").ok());
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 1);
}

TEST_F(ResultFileTest, WhatCannotBeWrittenIsFoundBeforehand) {
  for (const fs::path& path :
       {directory_ / "missing" / "a.json", directory_, fs::path(""), directory_ / ""}) {
    const absl::Status status = trials::check_writable(path);
    EXPECT_EQ(error_kind(status), ErrorKind::kInvalidArgument) << path;
    EXPECT_FALSE(trials::write_result_file(path, "x").ok()) << path;
  }
}

TEST_F(ResultFileTest, APipeIsWrittenToAndStaysAPipe) {
  const fs::path path = directory_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ASSERT_TRUE(trials::check_writable(path).ok());
  std::FILE* reader = fopen(path.c_str(), "r+");  // both ends, so that nobody waits
  ASSERT_TRUE(trials::write_result_file(path, "text").ok());
  char text[5] = {};
  EXPECT_EQ(fread(text, 1, 4, reader), 4u);
  EXPECT_STREQ(text, "text");
  fclose(reader);
  EXPECT_TRUE(fs::is_fifo(path));
}

// Everything that a renderer writes for one study.
std::string rendered(int columns) {
  char* buffer = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&buffer, &size);
  {
    trials::Progress progress(out, columns, "val_accuracy");
    const StudyResult study = sample_study();
    for (const TrialResult& trial : study.trials) {
      progress.on_event({TrialEvent::Kind::kStarted, 2, trial});
      progress.on_event({TrialEvent::Kind::kEpoch, 2, trial});
      progress.on_event({TrialEvent::Kind::kFinished, 2, trial});
    }
  }
  std::fclose(out);
  std::string text(buffer, size);
  free(buffer);
  return text;
}

TEST(ProgressTest, IsPlainLinesWhenPiped) {
  EXPECT_EQ(
      rendered(0),
      "trial 0  learning_rate=0.001 units=128  val_accuracy 0.8750  peak 3.0 MiB  1.5 s\n"
      "trial 1  learning_rate=10 units=64  not a number: the objective returned nan  peak 0 B  "
      "0.0 s\n");
}

TEST(ProgressTest, OnATerminalTheStatusLineNeverWrapsAndIsGoneInTheEnd) {
  const std::string text = rendered(20);
  EXPECT_NE(text.find("0 of 2 done; runnin\r\x1b[K"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

}  // namespace
}  // namespace quiesce
