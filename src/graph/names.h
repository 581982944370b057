#ifndef QUIESCE_GRAPH_NAMES_H_
#define QUIESCE_GRAPH_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"

namespace quiesce::graph {

// "MeanSquaredError" -> "mean_squared_error", by Keras 3's rule.
std::string to_snake_case(std::string_view name);

// The name and uid counters of one incarnation of a session, by Keras 3's rules. A fresh session
// has a fresh table, so names start from `dense` and uids from 1 again.
//
// Owner: the contents of a session. Thread word: thread-safe.
class NameTable {
 public:
  // First call for a prefix gives the prefix itself, later ones prefix_1, prefix_2, ...
  // Explicit names are used as they are and never come here.
  std::string unique_name(std::string_view prefix);
  // 1, 2, 3, ... per prefix; a counter of its own, apart from unique_name's.
  int64_t next_uid(std::string_view prefix);

 private:
  base::Mutex mutex_;
  absl::flat_hash_map<std::string, int64_t> names_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int64_t> uids_ ABSL_GUARDED_BY(mutex_);
};

// One level of this thread's name path, for as long as it lives. `owner` is the id of the
// incarnation in which the level was opened: a path shows only the levels of the session asked
// for, so that entering another session inside an open scope does not leak names into it.
// (The public NameScope pins the session and holds one of these; building a model opens one per
// model and layer.)
//
// Owner: a stack frame; levels close in the reverse order of opening.
// Thread word: thread-bound.
class PathScope {
 public:
  PathScope(uint64_t owner, std::string_view name);
  ~PathScope();
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

  // "outer/inner", the open levels of `owner` on this thread; "" when there are none.
  static std::string current_path(uint64_t owner);
  // current_path + "/" + leaf: path of a variable, "outer/inner/dense/kernel".
  static std::string join(uint64_t owner, std::string_view leaf);

 private:
  PathScope* const outer_;
  const uint64_t owner_;
  const std::string name_;
};

}  // namespace quiesce::graph

#endif  // QUIESCE_GRAPH_NAMES_H_
