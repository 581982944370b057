// Metrics and logs: what training reports.
#ifndef QUIESCE_METRICS_H_
#define QUIESCE_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quiesce/export.h"

namespace quiesce {

enum class MetricKind : uint8_t {
  kAccuracy,  // one of the next three, by the shapes of labels and predictions
  kBinaryAccuracy,
  kCategoricalAccuracy,
  kSparseCategoricalAccuracy,
  kInvalid,
};

// A metric by name; it keeps the spelling it was given ("acc" stays "acc" in logs and History).
// Owner: a value. Thread word: immutable. Belongs to no session: clear does not touch it.
class QUIESCE_EXPORT Metric {
 public:
  Metric(std::string_view name);                                       // NOLINT
  Metric(const char* name) : Metric(std::string_view(name)) {}         // NOLINT
  Metric(const std::string& name) : Metric(std::string_view(name)) {}  // NOLINT

  MetricKind kind() const { return kind_; }
  const std::string& name() const { return name_; }

 private:
  MetricKind kind_;
  std::string name_;
};

// Named values, sorted by name: the loss and metrics of a batch, of an epoch, of an evaluation.
// Owner: a value. Thread word: thread-compatible. Belongs to no session: clear does not touch it.
class QUIESCE_EXPORT Logs {
 public:
  using Entry = std::pair<std::string, double>;

  std::optional<double> find(std::string_view name) const;
  // The value, or NaN when there is none of that name.
  double operator[](std::string_view name) const;
  double loss() const { return (*this)["loss"]; }
  void set(std::string_view name, double value);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace quiesce

#endif  // QUIESCE_METRICS_H_
