#ifndef QUIESCE_SOURCE_LOCATION_H_
#define QUIESCE_SOURCE_LOCATION_H_

namespace quiesce {

// The place of a call: file and line of whoever wrote `SourceLocation::current()`, or of the caller
// when it stands as a default argument. Immutable. The text is the compiler's own and lives as long
// as the module it was compiled into; whoever keeps a location longer copies the text.
class SourceLocation {
 public:
  constexpr SourceLocation() = default;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return SourceLocation(file, line);
  }

  constexpr const char* file() const { return file_; }
  constexpr int line() const { return line_; }

  // The file's name without its folders.
  constexpr const char* base_name() const {
    const char* name = file_;
    for (const char* p = file_; *p != '\0'; ++p) {
      if (*p == '/') name = p + 1;
    }
    return name;
  }

 private:
  constexpr SourceLocation(const char* file, int line) : file_(file), line_(line) {}

  const char* file_ = "";
  int line_ = 0;
};

}  // namespace quiesce

#endif  // QUIESCE_SOURCE_LOCATION_H_
