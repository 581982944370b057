// What the reports of the runtime share in print: places, the table of holders.
#ifndef QUIESCE_RUNTIME_REPORT_FORMAT_H_
#define QUIESCE_RUNTIME_REPORT_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quiesce/clear.h"
#include "quiesce/source_location.h"
#include "runtime/json_writer.h"

namespace quiesce::runtime {

// "sweep.cc:88", or "" when unknown.
std::string place(SourceLocation where);
std::string place(const std::string& file, int line);
// One line per holder under a heading; empty when there is none.
std::string holders_table(const std::vector<Holder>& holders);
// "holders": [...]
void holders_json(JsonWriter& json, const std::vector<Holder>& holders);

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_REPORT_FORMAT_H_
