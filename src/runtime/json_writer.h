// JsonWriter: the few lines of JSON that the runtime's reports need.
#ifndef QUIESCE_RUNTIME_JSON_WRITER_H_
#define QUIESCE_RUNTIME_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace quiesce::runtime {

// Appends JSON to a string; puts the commas. Owner: a local variable. Thread-compatible.
class JsonWriter {
 public:
  JsonWriter& open_object(std::string_view key = {}) { return open(key, '{'); }
  JsonWriter& close_object() { return close('}'); }
  JsonWriter& open_array(std::string_view key) { return open(key, '['); }
  JsonWriter& close_array() { return close(']'); }
  JsonWriter& field(std::string_view key, std::string_view value);
  JsonWriter& field(std::string_view key, uint64_t value);
  JsonWriter& field(std::string_view key, double value);
  JsonWriter& field_bool(std::string_view key, bool value);

  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(std::string_view key, char bracket);
  JsonWriter& close(char bracket);
  void begin(std::string_view key);
  void quote(std::string_view text);

  std::string text_;
  bool comma_ = false;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_JSON_WRITER_H_
