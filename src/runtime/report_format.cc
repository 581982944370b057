#include "runtime/report_format.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/format_bytes.h"

namespace quiesce::runtime {

std::string place(const std::string& file, int line) {
  return line == 0 ? std::string() : absl::StrCat(file, ":", line);
}

std::string place(SourceLocation where) { return place(where.base_name(), where.line()); }

std::string holders_table(const std::vector<Holder>& holders) {
  if (holders.empty()) return "";
  std::string text = absl::StrFormat("  %-10s %-24s %-16s %-16s %10s %8s  %s\n", "held by", "label",
                                     "thread", "session", "bytes", "age", "where");
  for (const Holder& holder : holders) {
    absl::StrAppendFormat(&text, "  %-10s %-24s %-16s %-16s %10s %8s  %s\n",
                          holder_kind_name(holder.kind), holder.label, holder.thread,
                          holder.session, base::format_bytes(holder.bytes),
                          absl::StrFormat("%.3gs", absl::ToDoubleSeconds(holder.age)),
                          holder.where);
  }
  return text;
}

void holders_json(JsonWriter& json, const std::vector<Holder>& holders) {
  json.open_array("holders");
  for (const Holder& holder : holders) {
    json.open_object()
        .field("kind", holder_kind_name(holder.kind))
        .field("label", holder.label)
        .field("thread", holder.thread)
        .field("session", holder.session)
        .field("incarnation", holder.incarnation)
        .field("bytes", holder.bytes)
        .field("age_seconds", absl::ToDoubleSeconds(holder.age))
        .field("where", holder.where)
        .close_object();
  }
  json.close_array();
}

}  // namespace quiesce::runtime
