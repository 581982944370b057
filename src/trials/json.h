// A study's results as JSON.

#ifndef QUIESCE_TRIALS_JSON_H_
#define QUIESCE_TRIALS_JSON_H_

#include <cstdint>
#include <string>

#include "quiesce/memory_report.h"
#include "quiesce/metrics.h"
#include "quiesce/trials.h"

namespace quiesce::trials {

// What stands beside the trials, read when the study was over and its sessions were cleared.
struct StudyFigures {
  RuntimeTotals totals;
  MemoryInfo memory;
  uint64_t baseline = 0;  // bytes in use before the first trial
  Logs best_test;         // what the best model scores on the test data; empty: was not asked
};

// {"trials": [{number, params, state, reason, value, epochs, peak_bytes, seconds}, ...], "best",
//  "clear", "memory"}. Numbers that are not finite, and a value that there is none of, are null.
std::string study_to_json(const StudyResult& study, const StudyFigures& figures);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_JSON_H_
