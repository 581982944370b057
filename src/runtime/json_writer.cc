#include "runtime/json_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quiesce::runtime {

void JsonWriter::quote(std::string_view text) {
  text_.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&text_, "\\u%04x", static_cast<unsigned>(c));
    } else {
      text_.push_back(c);
    }
  }
  text_.push_back('"');
}

void JsonWriter::begin(std::string_view key) {
  if (comma_) text_.push_back(',');
  comma_ = true;
  if (!key.empty()) {
    quote(key);
    text_.push_back(':');
  }
}

JsonWriter& JsonWriter::open(std::string_view key, char bracket) {
  begin(key);
  text_.push_back(bracket);
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_.push_back(bracket);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view key, std::string_view value) {
  begin(key);
  quote(value);
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view key, uint64_t value) {
  begin(key);
  absl::StrAppend(&text_, value);
  return *this;
}

JsonWriter& JsonWriter::field(std::string_view key, double value) {
  begin(key);
  absl::StrAppendFormat(&text_, "%.6g", value);
  return *this;
}

JsonWriter& JsonWriter::field_bool(std::string_view key, bool value) {
  begin(key);
  text_ += value ? "true" : "false";
  return *this;
}

}  // namespace quiesce::runtime
