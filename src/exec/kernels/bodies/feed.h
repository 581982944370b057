#ifndef QUIESCE_EXEC_KERNELS_BODIES_FEED_H_
#define QUIESCE_EXEC_KERNELS_BODIES_FEED_H_

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {

// Element types, with the values of quiesce::DType.
inline constexpr uint32_t kFeedFloat32 = 0;
inline constexpr uint32_t kFeedUInt8 = 1;
inline constexpr uint32_t kFeedInt32 = 2;
inline constexpr uint32_t kFeedInt64 = 3;

// Gathers rows of a dense array, casting each element; float32 results are x * factor + offset.
struct FeedArgs {
  const void* data;
  const uint32_t* rows;  // null: row r is row r
  void* out;
  uint64_t row_count;
  uint64_t width;
  uint32_t from;
  uint32_t to;  // kFeedFloat32 or kFeedInt32
  float factor;
  float offset;
};

namespace {

QUIESCE_BODY void feed_row_to_float(const FeedArgs& a, uint64_t row, float* out) {
  const uint64_t at = (a.rows != nullptr ? a.rows[row] : row) * a.width;
  const uint64_t width = a.width;
  const float factor = a.factor;
  const float offset = a.offset;
  switch (a.from) {
    case kFeedUInt8: {
      const uint8_t* in = static_cast<const uint8_t*>(a.data) + at;
      for (uint64_t c = 0; c < width; ++c) out[c] = static_cast<float>(in[c]) * factor + offset;
      break;
    }
    case kFeedInt32: {
      const int32_t* in = static_cast<const int32_t*>(a.data) + at;
      for (uint64_t c = 0; c < width; ++c) out[c] = static_cast<float>(in[c]) * factor + offset;
      break;
    }
    case kFeedInt64: {
      const int64_t* in = static_cast<const int64_t*>(a.data) + at;
      for (uint64_t c = 0; c < width; ++c) out[c] = static_cast<float>(in[c]) * factor + offset;
      break;
    }
    default: {
      const float* in = static_cast<const float*>(a.data) + at;
      for (uint64_t c = 0; c < width; ++c) out[c] = in[c] * factor + offset;
      break;
    }
  }
}

// Values outside int32 (and NaN) become -1, which no label is.
QUIESCE_BODY int32_t label_of(float x) {
  return x > -2147483648.0f && x < 2147483648.0f ? static_cast<int32_t>(x) : -1;
}
QUIESCE_BODY int32_t label_of(int64_t x) {
  return x >= -2147483647 && x <= 2147483647 ? static_cast<int32_t>(x) : -1;
}

QUIESCE_BODY void feed_row_to_int(const FeedArgs& a, uint64_t row, int32_t* out) {
  const uint64_t at = (a.rows != nullptr ? a.rows[row] : row) * a.width;
  for (uint64_t c = 0; c < a.width; ++c) {
    switch (a.from) {
      case kFeedUInt8:
        out[c] = static_cast<const uint8_t*>(a.data)[at + c];
        break;
      case kFeedInt32:
        out[c] = static_cast<const int32_t*>(a.data)[at + c];
        break;
      case kFeedInt64:
        out[c] = label_of(static_cast<const int64_t*>(a.data)[at + c]);
        break;
      default:
        out[c] = label_of(static_cast<const float*>(a.data)[at + c]);
        break;
    }
  }
}

// One row per index. `data` and `rows` are the user's and may lie in host memory, so they are no
// spans of the device.
struct FeedRows {
  using Args = FeedArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.row_count; }
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    if (a.to == kFeedFloat32) {
      feed_row_to_float(a, row, static_cast<float*>(a.out) + row * a.width);
    } else {
      feed_row_to_int(a, row, static_cast<int32_t*>(a.out) + row * a.width);
    }
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.write(a.out, a.row_count * a.width * 4);
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_FEED_H_
