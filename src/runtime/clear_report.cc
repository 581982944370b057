#include <ostream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "quiesce/clear.h"
#include "runtime/json_writer.h"
#include "runtime/report_format.h"

namespace quiesce {

std::string_view clear_state_name(ClearState state) {
  switch (state) {
    case ClearState::kDone: return "done";
    case ClearState::kDeferred: return "deferred";
    case ClearState::kTimedOut: return "timed out";
    case ClearState::kDeviceLost: return "device lost";
  }
  return "unknown";
}

std::string_view holder_kind_name(HolderKind kind) {
  switch (kind) {
    case HolderKind::kPin: return "pin";
    case HolderKind::kLease: return "lease";
    case HolderKind::kStream: return "stream";
    case HolderKind::kTensor: return "tensor";
    case HolderKind::kReclaiming: return "reclaiming";
  }
  return "unknown";
}

namespace {

std::string counts_line(std::string_view what, const ClearCounts& counts) {
  return absl::StrFormat("  %-11s sessions %d retired, %d reclaimed, %d held; graphs %d, %d, %d\n",
                         what, counts.sessions_retired, counts.sessions_reclaimed,
                         counts.sessions_held, counts.graphs_retired, counts.graphs_reclaimed,
                         counts.graphs_held);
}

void counts_json(runtime::JsonWriter& json, std::string_view key, const ClearCounts& counts) {
  json.open_object(key)
      .field("sessions_retired", counts.sessions_retired)
      .field("sessions_reclaimed", counts.sessions_reclaimed)
      .field("sessions_held", counts.sessions_held)
      .field("graphs_retired", counts.graphs_retired)
      .field("graphs_reclaimed", counts.graphs_reclaimed)
      .field("graphs_held", counts.graphs_held)
      .close_object();
}

}  // namespace

std::string ClearReport::to_string() const {
  std::string text = absl::StrFormat(
      "clear: generation %d, %s, in %s, by %s\n", generation, clear_state_name(state),
      absl::FormatDuration(absl::Trunc(spent, absl::Microseconds(1))), where);
  text += counts_line("this clear", own);
  text += counts_line("all so far", all);
  absl::StrAppend(&text, "  bytes       ", base::format_bytes(bytes_before), " before, ",
                  base::format_bytes(bytes_to_cache), " back in cache, ",
                  base::format_bytes(bytes_to_driver), " back with the driver, ",
                  base::format_bytes(bytes_held), " held, floor ",
                  base::format_bytes(bytes_floor), "\n");
  if (foreign_destructors > 0) {
    absl::StrAppend(&text, "  foreign destructors to run: ", foreign_destructors, "\n");
  }
  text += runtime::holders_table(holders);
  return text;
}

std::string ClearReport::to_json() const {
  runtime::JsonWriter json;
  json.open_object()
      .field("generation", generation)
      .field("state", clear_state_name(state))
      .field("clears", clears);
  counts_json(json, "own", own);
  counts_json(json, "all", all);
  json.open_object("bytes")
      .field("before", bytes_before)
      .field("in_use", bytes_in_use)
      .field("to_cache", bytes_to_cache)
      .field("to_driver", bytes_to_driver)
      .field("held", bytes_held)
      .field("floor", bytes_floor)
      .close_object();
  json.field("foreign_destructors", foreign_destructors)
      .field("seconds", absl::ToDoubleSeconds(spent))
      .field("where", where);
  runtime::holders_json(json, holders);
  json.close_object();
  return json.take();
}

std::ostream& operator<<(std::ostream& out, const ClearReport& report) {
  return out << report.to_string();
}

}  // namespace quiesce
