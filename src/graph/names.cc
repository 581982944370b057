#include "graph/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace quiesce::graph {
namespace {

// Innermost open level on this thread.
constinit thread_local PathScope* innermost = nullptr;

bool is_word(char c) { return absl::ascii_isalnum(c) || c == '_'; }

}  // namespace

std::string to_snake_case(std::string_view name) {
  // Keras: drop \W, then (.)([A-Z][a-z]+) -> \1_\2, then ([a-z])([A-Z]) -> \1_\2, then lower.
  std::string word;
  for (char c : name) {
    if (is_word(c)) word += c;
  }
  std::string split;
  for (size_t i = 0; i < word.size();) {
    split += word[i++];
    if (i + 1 < word.size() && absl::ascii_isupper(word[i]) && absl::ascii_islower(word[i + 1])) {
      split += '_';
      split += word[i++];
      while (i < word.size() && absl::ascii_islower(word[i])) split += word[i++];
    }
  }
  std::string snake;
  for (size_t i = 0; i < split.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(split[i]) && absl::ascii_islower(split[i - 1])) snake += '_';
    snake += absl::ascii_tolower(split[i]);
  }
  return snake;
}

std::string NameTable::unique_name(std::string_view prefix) {
  std::string name(prefix);
  base::MutexLock lock(mutex_);
  const int64_t seen = names_[name]++;
  return seen == 0 ? name : absl::StrCat(name, "_", seen);
}

int64_t NameTable::next_uid(std::string_view prefix) {
  base::MutexLock lock(mutex_);
  return ++uids_[std::string(prefix)];
}

PathScope::PathScope(uint64_t owner, std::string_view name)
    : outer_(innermost), owner_(owner), name_(name) {
  innermost = this;
}

PathScope::~PathScope() {
  QUIESCE_CHECK(innermost == this,
                "name scopes close on the thread that opened them, in reverse order");
  innermost = outer_;
}

std::string PathScope::current_path(uint64_t owner) {
  std::string path;
  for (const PathScope* level = innermost; level != nullptr; level = level->outer_) {
    if (level->owner_ != owner) continue;
    path = path.empty() ? level->name_ : absl::StrCat(level->name_, "/", path);
  }
  return path;
}

std::string PathScope::join(uint64_t owner, std::string_view leaf) {
  std::string path = current_path(owner);
  if (!path.empty()) path += '/';
  return path.append(leaf);
}

}  // namespace quiesce::graph
