#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/cli.h"
#include "cli/values.h"

namespace quiesce::cli {
namespace {

Parsed parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "quiesce");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

// The one line that a wrong option gets.
std::string error_of(const std::vector<const char*>& arguments) {
  const Parsed parsed = parse(arguments);
  EXPECT_FALSE(parsed.command_line.has_value());
  EXPECT_EQ(parsed.exit_code, kExitUsage);
  EXPECT_EQ(parsed.error.find('\n'), std::string::npos);
  EXPECT_EQ(parsed.output, "");
  return parsed.error;
}

TEST(CommandLineTest, TuneWithoutOptionsIsTheMainJob) {
  const Parsed parsed = parse({"tune"});
  ASSERT_TRUE(parsed.command_line.has_value()) << parsed.error;
  const TuneOptions& options = parsed.command_line->tune;
  EXPECT_EQ(options.data, "/usr/share/datasets/fashion-mnist");
  EXPECT_EQ(options.learning_rates.size() * options.units.size(), 16u);
  EXPECT_EQ(options.threads, 0);
  EXPECT_FALSE(options.is_random);
  EXPECT_EQ(options.json, "");
}

TEST(CommandLineTest, AnEmptyPathIsWrongUsageAndNotNoFile) {
  EXPECT_EQ(error_of({"tune", "--json", ""}), "--json wants a path, got \"\"");
  EXPECT_EQ(error_of({"tune", "--data", ""}), "--data wants a path, got \"\"");
}

TEST(CommandLineTest, EveryOptionReachesTheJob) {
  const Parsed parsed = parse({"tune",
                               "--data",
                               "/d",
                               "--threads",
                               "7",
                               "--trials",
                               "40",
                               "--epochs",
                               "2",
                               "--batch",
                               "128",
                               "--seed",
                               "18446744073709551615",
                               "--sampler",
                               "random",
                               "--learning-rates",
                               "1e-4, 1e-2",
                               "--units",
                               "8,16",
                               "--quota",
                               "1.5M",
                               "--trial-timeout",
                               "500ms",
                               "--clear-every",
                               "1ms",
                               "--limit-samples",
                               "2000",
                               "--json",
                               "out.json"});
  ASSERT_TRUE(parsed.command_line.has_value()) << parsed.error;
  const TuneOptions& options = parsed.command_line->tune;
  EXPECT_EQ(options.data, "/d");
  EXPECT_EQ(options.threads, 7);
  EXPECT_EQ(options.trials, 40);
  EXPECT_EQ(options.epochs, 2);
  EXPECT_EQ(options.batch, 128);
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_TRUE(options.is_random);
  EXPECT_EQ(options.learning_rates, (std::vector<double>{1e-4, 1e-2}));
  EXPECT_EQ(options.units, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(options.quota, uint64_t{3} << 19);
  EXPECT_EQ(options.trial_timeout, absl::Milliseconds(500));
  EXPECT_EQ(options.clear_every, absl::Milliseconds(1));
  EXPECT_EQ(options.limit_samples, 2000);
  EXPECT_EQ(options.json, "out.json");
}

TEST(CommandLineTest, WrongValuesSayWhatIsWanted) {
  EXPECT_EQ(error_of({"tune", "--trials", "0"}),
            "--trials wants a whole number from 1 up, got \"0\"");
  EXPECT_EQ(error_of({"tune", "--epochs", "0"}),
            "--epochs wants a whole number from 1 up, got \"0\"");
  EXPECT_EQ(error_of({"tune", "--batch", "-3"}),
            "--batch wants a whole number from 1 up, got \"-3\"");
  EXPECT_EQ(error_of({"tune", "--epochs", ""}),
            "--epochs wants a whole number from 1 up, got \"\"");
  EXPECT_EQ(error_of({"tune", "--threads", "257"}),
            "--threads wants a whole number from 1 to 256, got \"257\"");
  EXPECT_EQ(error_of({"tune", "--threads", "two"}),
            "--threads wants a whole number from 1 to 256, got \"two\"");
  EXPECT_EQ(error_of({"tune", "--seed", "-1"}),
            "--seed wants a whole number from 0 to 18446744073709551615, got \"-1\"");
  EXPECT_EQ(error_of({"tune", "--sampler", "tpe"}), "--sampler wants grid or random, got \"tpe\"");
  for (const char* rates : {"-1e-3", "nan", "inf", "0", "1e-3,,1e-2", "x"}) {
    EXPECT_EQ(error_of({"tune", "--learning-rates", rates}),
              std::string("--learning-rates wants finite numbers above zero, separated by commas, "
                          "got \"") +
                  rates + "\"");
  }
  EXPECT_EQ(error_of({"tune", "--units", "0"}),
            "--units wants whole numbers from 1 up, separated by commas, got \"0\"");
  EXPECT_EQ(error_of({"tune", "--units", "8,8"}), "--units wants each value once, got \"8,8\"");
  EXPECT_EQ(error_of({"tune", "--trial-timeout", "5"}),
            "--trial-timeout wants a time above zero such as 1ms, 30s or 2m, got \"5\"");
  EXPECT_EQ(error_of({"tune", "--clear-every", "0s"}),
            "--clear-every wants a time above zero such as 1ms, 30s or 2m, got \"0s\"");
  EXPECT_TRUE(absl::StartsWith(error_of({"tune", "--quota", "lots"}), "--quota wants a number of"));
  EXPECT_EQ(error_of({"tune", "--limit-samples", "9"}),
            "--limit-samples wants a whole number from 10 up, got \"9\"");
}

TEST(CommandLineTest, MoreTrialsThanTheGridHasIsAnErrorThatShowsTheWayOut) {
  EXPECT_EQ(error_of({"tune", "--trials", "17"}),
            "--trials wants at most 16 for a grid of 4 learning rates and 4 units, got 17; "
            "--sampler random has no limit");
  EXPECT_TRUE(parse({"tune", "--trials", "17", "--sampler", "random"}).command_line.has_value());
}

TEST(CommandLineTest, UnknownOptionsAndCommandsAreNamed) {
  EXPECT_EQ(error_of({"tune", "--epoch", "3"}), "tune has no option \"--epoch\"");
  EXPECT_EQ(error_of({"--nonsense"}), "there is no option \"--nonsense\"");
  EXPECT_EQ(error_of({"tune", "now"}), "tune takes no further word, got \"now\"");
  EXPECT_EQ(error_of({"dance"}), "there is no command \"dance\"; there are tune and devices");
  EXPECT_EQ(parse({"tune", "--epoch", "3"}).help, "quiesce tune --help");
  EXPECT_EQ(parse({"tune", "--epochs", "0"}).help, "quiesce tune --help");
  EXPECT_EQ(parse({"dance"}).help, "quiesce --help");
  EXPECT_EQ(error_of({}), "say what to do: tune or devices");
  error_of({"tune", "devices"});
  EXPECT_EQ(error_of({"tune", "--epochs"}), "--epochs wants a value");
}

TEST(CommandLineTest, HelpAndVersionAreAnswers) {
  for (const std::vector<const char*>& arguments :
       {std::vector<const char*>{"--help"}, {"tune", "--help"}, {"--version"}}) {
    const Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.command_line.has_value());
    EXPECT_EQ(parsed.exit_code, kExitDone);
    EXPECT_NE(parsed.output, "");
    EXPECT_EQ(parsed.error, "");
  }
  const std::string help = parse({"tune", "--help"}).output;
  for (const char* option :
       {"--data", "--threads", "--trials", "--epochs", "--batch", "--seed", "--sampler",
        "--learning-rates", "--units", "--quota", "--trial-timeout", "--clear-every",
        "--limit-samples", "--json", "Ctrl-C", "Exit codes"}) {
    EXPECT_TRUE(absl::StrContains(help, option)) << option;
  }
  EXPECT_TRUE(absl::StartsWith(parse({"--version"}).output, "quiesce "));
}

TEST(ValuesTest, BytesTakeSuffixes) {
  EXPECT_EQ(parse_bytes("-q", "64").value(), 64u);
  EXPECT_EQ(parse_bytes("-q", "64B").value(), 64u);
  EXPECT_EQ(parse_bytes("-q", "2k").value(), 2048u);
  EXPECT_EQ(parse_bytes("-q", "2KiB").value(), 2048u);
  EXPECT_EQ(parse_bytes("-q", "1.5G").value(), uint64_t{3} << 29);
  for (const char* bad : {"", "B", "0", "-1", "nan", "inf", "1e30", "1X", "9999999T", "1 M x"}) {
    EXPECT_FALSE(parse_bytes("-q", bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace quiesce::cli
