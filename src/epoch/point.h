#ifndef QUIESCE_EPOCH_POINT_H_
#define QUIESCE_EPOCH_POINT_H_

#include <cstdint>

namespace quiesce::epoch {

// A piece of device work: the work numbered `number` on the stream `stream`, and all before it on
// that stream. Stream ids are unique for the life of the process and never zero; the empty Point
// stands for "no work" and is always complete. An immutable value.
struct Point {
  uint64_t stream = 0;
  uint64_t number = 0;

  bool empty() const { return stream == 0; }
  friend bool operator==(const Point& a, const Point& b) {
    return a.stream == b.stream && a.number == b.number;
  }
  friend bool operator!=(const Point& a, const Point& b) { return !(a == b); }
};

// Says whether a Point is complete. Thread-safe. A stream that the source does not know, or does
// not know any more, has no work left: its points are complete (ids are never reused).
class CompletionSource {
 public:
  virtual bool is_complete(Point point) = 0;

 protected:
  ~CompletionSource() = default;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_POINT_H_
