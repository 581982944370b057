#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "cli/cli.h"
#include "cli/values.h"
#include "quiesce/errors.h"
#include "quiesce/trials.h"

namespace quiesce::cli {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeastSamples = 10;  // one of them for validation

constexpr char kAbout[] =
    "Quiesce: many training trials at once in one process, each in a session of its own,\n"
    "while anybody may clear the process's sessions at any moment.";

constexpr char kFooter[] =
    "Start with\n"
    "  quiesce tune                         the whole job, half a minute on two quiet cores\n"
    "  quiesce tune --limit-samples 2000    a taste of it, in seconds\n"
    "  quiesce tune --help                  everything it can be told";

constexpr char kTuneAbout[] =
    "The main job: searches learning rate x units of a two-layer network on Fashion-MNIST.";

constexpr char kTuneFooter[] =
    "Each trial has a session, a lease and a quota of its own, and several run at once. Prints a "
    "line\n"
    "per trial, then the table, the best model with its test accuracy, what the final clear gave "
    "back,\n"
    "and the memory that is left.\n"
    "Examples\n"
    "  quiesce tune --clear-every 1ms                 clear all sessions a thousand times a "
    "second\n"
    "                                                 meanwhile; the results are equal to the bit\n"
    "  quiesce tune --sampler random --trials 40      draw instead of a grid\n"
    "  quiesce tune --threads 8 --quota 2M            eight at once; those that need more fail "
    "alone\n"
    "  quiesce tune --trial-timeout 5s --json a.json  give up on slow ones; keep everything in a "
    "file\n"
    "Ctrl-C stops within a batch and keeps what is finished; a second one leaves at once.\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

// Values as text; CLI11's own conversions say less about what was wanted.
struct TuneTexts {
  std::optional<std::string> threads, trials, epochs, batch, seed, sampler, learning_rates, units,
      quota, trial_timeout, clear_every, limit_samples, json;
};

void add_tune_options(CLI::App& tune, TuneTexts& texts, TuneOptions& options) {
  tune.add_option("--data", options.data, "directory with the four IDX files, gzipped or not")
      ->type_name("DIR")
      ->capture_default_str();
  tune.add_option("--threads", texts.threads, "trials in flight, also above the number of cores")
      ->type_name("N")
      ->default_str("one per core");
  tune.add_option("--trials", texts.trials, "how many: of the grid, from its start, or random ones")
      ->type_name("N")
      ->default_str("the whole grid, or 16");
  tune.add_option("--epochs", texts.epochs, "times a trial sees the data")
      ->type_name("N")
      ->default_str("5");
  tune.add_option("--batch", texts.batch, "samples of one step")->type_name("N")->default_str("32");
  tune.add_option("--seed", texts.seed, "equal seeds give results equal to the bit")
      ->type_name("N")
      ->default_str("1");
  tune.add_option("--sampler", texts.sampler, "grid or random")
      ->type_name("NAME")
      ->default_str("grid");
  tune.add_option("--learning-rates", texts.learning_rates,
                  "the grid's; a random search draws between the least and the greatest")
      ->type_name("LIST")
      ->default_str("3e-4,1e-3,3e-3,1e-2");
  tune.add_option("--units", texts.units, "of the hidden layer, likewise")
      ->type_name("LIST")
      ->default_str("32,64,128,256");
  tune.add_option("--quota", texts.quota, "memory one trial may have in use: 2097152, 2048K, 2M")
      ->type_name("BYTES")
      ->default_str("none");
  tune.add_option("--trial-timeout", texts.trial_timeout,
                  "end a trial at the first batch after that time: 500ms, 30s, 2m")
      ->type_name("TIME")
      ->default_str("none");
  tune.add_option("--clear-every", texts.clear_every,
                  "a further thread calls clear_session() that often while trials run")
      ->type_name("TIME")
      ->default_str("never");
  tune.add_option("--limit-samples", texts.limit_samples,
                  "use the first N samples of the training and of the test data")
      ->type_name("N")
      ->default_str("all");
  tune.add_option("--json", texts.json, "write everything to this file, whole or not at all")
      ->type_name("FILE");
  tune.footer(kTuneFooter);
}

template <class T, class Parse, class... Limits>
absl::Status convert(const char* option, const std::optional<std::string>& text, T& target,
                     Parse parse, Limits... limits) {
  if (!text) return absl::OkStatus();
  QUIESCE_ASSIGN_OR_RETURN(auto value, parse(option, *text, limits...));
  target = static_cast<T>(std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<bool> parse_sampler(const std::string& option, const std::string& text) {
  if (text == "grid" || text == "random") return text == "random";
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(option, " wants grid or random, got \"", text, "\""));
}

// A name of nothing is a slip, such as an unset variable in a script; taken as "none", the file that
// was asked for would silently be missing at the end.
absl::StatusOr<std::string> parse_path(const std::string& option, const std::string& text) {
  if (!text.empty()) return text;
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(option, " wants a path, got \"\""));
}

absl::Status convert_tune_options(const TuneTexts& texts, TuneOptions& options) {
  QUIESCE_RETURN_IF_ERROR(convert("--threads", texts.threads, options.threads, parse_int,
                                  int64_t{1}, int64_t{kMaxStudyThreads}));
  QUIESCE_RETURN_IF_ERROR(
      convert("--trials", texts.trials, options.trials, parse_int, int64_t{1}, kMost));
  QUIESCE_RETURN_IF_ERROR(
      convert("--epochs", texts.epochs, options.epochs, parse_int, int64_t{1}, kMost));
  QUIESCE_RETURN_IF_ERROR(
      convert("--batch", texts.batch, options.batch, parse_int, int64_t{1}, kMost));
  QUIESCE_RETURN_IF_ERROR(convert("--seed", texts.seed, options.seed, parse_seed));
  QUIESCE_RETURN_IF_ERROR(convert("--sampler", texts.sampler, options.is_random, parse_sampler));
  QUIESCE_RETURN_IF_ERROR(
      convert("--learning-rates", texts.learning_rates, options.learning_rates, parse_rates));
  QUIESCE_RETURN_IF_ERROR(convert("--units", texts.units, options.units, parse_counts));
  QUIESCE_RETURN_IF_ERROR(convert("--quota", texts.quota, options.quota, parse_bytes));
  QUIESCE_RETURN_IF_ERROR(
      convert("--trial-timeout", texts.trial_timeout, options.trial_timeout, parse_duration));
  QUIESCE_RETURN_IF_ERROR(
      convert("--clear-every", texts.clear_every, options.clear_every, parse_duration));
  QUIESCE_RETURN_IF_ERROR(convert("--limit-samples", texts.limit_samples, options.limit_samples,
                                  parse_int, kLeastSamples, kMost));
  QUIESCE_RETURN_IF_ERROR(convert("--json", texts.json, options.json, parse_path));
  QUIESCE_RETURN_IF_ERROR(parse_path("--data", options.data).status());
  const auto points = static_cast<int64_t>(options.learning_rates.size() * options.units.size());
  if (!options.is_random && options.trials > points) {
    return base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("--trials wants at most ", points, " for a grid of ",
                     options.learning_rates.size(), " learning rates and ", options.units.size(),
                     " units, got ", options.trials, "; --sampler random has no limit"));
  }
  return absl::OkStatus();
}

Parsed usage_error(std::string message, std::string help) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return {.command_line = {},
          .output = "",
          .error = std::move(message),
          .help = std::move(help),
          .exit_code = kExitUsage};
}

// What to say of the first word that nothing has taken. `command` is empty when none was named.
std::string unknown_word(const std::string& word, const std::string& command) {
  if (word[0] == '-') {
    return absl::StrCat(command.empty() ? "there is" : absl::StrCat(command, " has"),
                        " no option \"", word, "\"");
  }
  if (command.empty()) {
    return absl::StrCat("there is no command \"", word, "\"; there are tune and devices");
  }
  return absl::StrCat(command, " takes no further word, got \"", word, "\"");
}

}  // namespace

Parsed parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kAbout, "quiesce");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  bool wants_version = false;
  app.add_flag("--version", wants_version, "print the version and exit");
  CommandLine command_line;
  TuneTexts texts;
  CLI::App* tune = app.add_subcommand("tune", kTuneAbout);
  add_tune_options(*tune, texts, command_line.tune);
  CLI::App* devices =
      app.add_subcommand("devices", "Lists the devices that there are, and what they have.");
  devices->footer("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return {.command_line = {},
            .output = chosen.empty() ? app.help() : chosen.front()->help("quiesce"),
            .error = "",
            .exit_code = kExitDone};
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : chosen.front()->get_name();
    const std::string help =
        absl::StrCat("quiesce ", command, command.empty() ? "" : " ", "--help");
    const std::vector<std::string> extras = app.remaining(/*recurse=*/true);
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (is_extra && !extras.empty() && !extras.front().empty()) {
      return usage_error(unknown_word(extras.front(), command), help);
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      const std::string text = error.what();  // "--epochs: 1 required N missing"
      return usage_error(absl::StrCat(text.substr(0, text.find(':')), " wants a value"), help);
    }
    return usage_error(error.what(), help);
  }
  if (wants_version) {
    return {.command_line = {},
            .output = absl::StrCat("quiesce ", QUIESCE_VERSION, "\n"),
            .error = "",
            .exit_code = kExitDone};
  }
  if (devices->parsed()) {
    command_line.command = CommandLine::Command::kDevices;
  } else if (tune->parsed()) {
    absl::Status status = convert_tune_options(texts, command_line.tune);
    if (!status.ok()) return usage_error(std::string(status.message()), "quiesce tune --help");
  } else {
    return {.command_line = {},
            .output = "",
            .error = "say what to do: tune or devices",
            .exit_code = kExitUsage};
  }
  return {
      .command_line = std::move(command_line), .output = "", .error = "", .exit_code = kExitDone};
}

}  // namespace quiesce::cli
