#include "trials/json.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <variant>

namespace quiesce::trials {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const ParamValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return number_or_null(*real);
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  return std::get<std::string>(value);
}

Json to_json(const std::vector<Param>& params) {
  Json json = Json::object();
  for (const Param& param : params) json[param.name] = to_json(param.value);
  return json;
}

Json to_json(const Logs& logs) {
  Json json = Json::object();
  for (const auto& [name, value] : logs) json[name] = number_or_null(value);
  return json;
}

Json to_json(const TrialResult& trial) {
  Json epochs = Json::array();
  for (const Logs& logs : trial.epochs) epochs.push_back(to_json(logs));
  return {{"number", trial.number},
          {"params", to_json(trial.params)},
          {"state", std::string(to_string(trial.state))},
          {"reason", trial.reason},
          {"value", trial.value ? number_or_null(*trial.value) : Json(nullptr)},
          {"epochs", std::move(epochs)},
          {"peak_bytes", trial.peak_bytes},
          {"seconds", trial.seconds}};
}

Json best_to_json(const StudyResult& study, const Logs& test) {
  if (!study.best) return nullptr;
  const TrialResult& best = study.trials[static_cast<size_t>(*study.best)];
  Json json = {{"number", best.number}, {"params", to_json(best.params)}, {"value", *best.value}};
  for (const auto& [name, value] : test) json["test_" + name] = number_or_null(value);
  return json;
}

}  // namespace

std::string study_to_json(const StudyResult& study, const StudyFigures& figures) {
  Json trials = Json::array();
  for (const TrialResult& trial : study.trials) trials.push_back(to_json(trial));
  const RuntimeTotals& totals = figures.totals;
  const Json json = {{"trials", std::move(trials)},
                     {"best", best_to_json(study, figures.best_test)},
                     {"clear",
                      {{"clears", totals.clears},
                       {"sessions_retired", totals.sessions_retired},
                       {"sessions_reclaimed", totals.sessions_reclaimed},
                       {"sessions_held", totals.sessions_held}}},
                     {"memory",
                      {{"in_use", figures.memory.in_use()},
                       {"cached", figures.memory.cached()},
                       {"released", figures.memory.released()},
                       {"baseline", figures.baseline}}}};
  // A reason may quote bytes of a broken file: what is not UTF-8 is replaced, not thrown upon.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quiesce::trials
