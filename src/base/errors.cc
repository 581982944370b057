#include "quiesce/errors.h"

#include <string>

#include "absl/strings/cord.h"
#include "base/make_error.h"

namespace quiesce {
namespace {

constexpr char kPayloadUrl[] = "quiesce/error_kind";

struct KindRow {
  ErrorKind kind;
  absl::StatusCode code;
  const char* name;
};

constexpr KindRow kKinds[] = {
    {ErrorKind::kNone, absl::StatusCode::kOk, "None"},
    {ErrorKind::kOther, absl::StatusCode::kUnknown, "Other"},
    {ErrorKind::kInvalidArgument, absl::StatusCode::kInvalidArgument, "InvalidArgument"},
    {ErrorKind::kStale, absl::StatusCode::kFailedPrecondition, "Stale"},
    {ErrorKind::kShutdown, absl::StatusCode::kFailedPrecondition, "Shutdown"},
    {ErrorKind::kForkedChild, absl::StatusCode::kFailedPrecondition, "ForkedChild"},
    {ErrorKind::kOutOfMemory, absl::StatusCode::kResourceExhausted, "OutOfMemory"},
    {ErrorKind::kQuotaExceeded, absl::StatusCode::kResourceExhausted, "QuotaExceeded"},
    {ErrorKind::kTooLarge, absl::StatusCode::kResourceExhausted, "TooLarge"},
    {ErrorKind::kDoubleFree, absl::StatusCode::kInvalidArgument, "DoubleFree"},
    {ErrorKind::kForeignPointer, absl::StatusCode::kInvalidArgument, "ForeignPointer"},
    {ErrorKind::kCancelled, absl::StatusCode::kCancelled, "Cancelled"},
    {ErrorKind::kDeadline, absl::StatusCode::kDeadlineExceeded, "Deadline"},
    {ErrorKind::kMismatch, absl::StatusCode::kInvalidArgument, "Mismatch"},
    {ErrorKind::kCorruptData, absl::StatusCode::kDataLoss, "CorruptData"},
    {ErrorKind::kNotCompiled, absl::StatusCode::kFailedPrecondition, "NotCompiled"},
    {ErrorKind::kNotBuilt, absl::StatusCode::kFailedPrecondition, "NotBuilt"},
    {ErrorKind::kNotFinite, absl::StatusCode::kOutOfRange, "NotFinite"},
    {ErrorKind::kBusy, absl::StatusCode::kFailedPrecondition, "Busy"},
    {ErrorKind::kUnsupported, absl::StatusCode::kUnimplemented, "Unsupported"},
    {ErrorKind::kDeviceLost, absl::StatusCode::kUnavailable, "DeviceLost"},
    {ErrorKind::kInternal, absl::StatusCode::kInternal, "Internal"},
};

const KindRow& row(ErrorKind kind) {
  for (const KindRow& candidate : kKinds) {
    if (candidate.kind == kind) return candidate;
  }
  return kKinds[static_cast<int>(ErrorKind::kInternal)];
}

}  // namespace

ErrorKind error_kind(const absl::Status& status) {
  if (status.ok()) return ErrorKind::kNone;
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload) return ErrorKind::kOther;
  const std::string name(*payload);
  for (const KindRow& candidate : kKinds) {
    if (name == candidate.name) return candidate.kind;
  }
  return ErrorKind::kOther;
}

std::string_view error_kind_name(ErrorKind kind) { return row(kind).name; }

namespace base {

absl::Status make_error(ErrorKind kind, std::string_view message) {
  if (kind == ErrorKind::kNone) kind = ErrorKind::kInternal;
  const KindRow& chosen = row(kind);
  absl::Status status(chosen.code, absl::string_view(message.data(), message.size()));
  status.SetPayload(kPayloadUrl, absl::Cord(chosen.name));
  return status;
}

}  // namespace base
}  // namespace quiesce
