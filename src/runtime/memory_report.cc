#include "quiesce/memory_report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "runtime/json_writer.h"
#include "runtime/report_format.h"

namespace quiesce {
namespace {

uint64_t sum(const std::vector<DeviceMemory>& devices, uint64_t DeviceMemory::*member) {
  uint64_t total = 0;
  for (const DeviceMemory& device : devices) total += device.*member;
  return total;
}

}  // namespace

uint64_t MemoryInfo::in_use() const { return sum(devices, &DeviceMemory::in_use); }
uint64_t MemoryInfo::peak() const { return sum(devices, &DeviceMemory::peak); }
uint64_t MemoryInfo::reserved() const { return sum(devices, &DeviceMemory::reserved); }
uint64_t MemoryInfo::cached() const { return sum(devices, &DeviceMemory::cached); }
uint64_t MemoryInfo::released() const { return sum(devices, &DeviceMemory::released); }

std::string MemoryInfo::to_string() const {
  std::string text = absl::StrFormat("%-20s %10s %10s %10s %10s %10s %10s\n", "device", "in use",
                                     "peak", "reserved", "cached", "released", "limit");
  for (const DeviceMemory& device : devices) {
    absl::StrAppendFormat(
        &text, "%-20s %10s %10s %10s %10s %10s %10s\n", device.device,
        base::format_bytes(device.in_use), base::format_bytes(device.peak),
        base::format_bytes(device.reserved), base::format_bytes(device.cached),
        base::format_bytes(device.released),
        device.limit == 0 ? "-" : base::format_bytes(device.limit));
  }
  if (sessions.empty()) return text;
  absl::StrAppendFormat(&text, "%-20s %10s %10s %10s %10s %10s\n", "session", "in use", "peak",
                        "charged", "held", "quota");
  for (const SessionMemory& session : sessions) {
    absl::StrAppendFormat(&text, "%-20s %10s %10s %10s %10s %10s\n", session.session,
                          base::format_bytes(session.in_use), base::format_bytes(session.peak),
                          base::format_bytes(session.charged), base::format_bytes(session.held),
                          session.quota == 0 ? "-" : base::format_bytes(session.quota));
  }
  return text;
}

std::string MemoryInfo::to_json() const {
  runtime::JsonWriter json;
  json.open_object().open_array("devices");
  for (const DeviceMemory& device : devices) {
    json.open_object()
        .field("device", device.device)
        .field("in_use", device.in_use)
        .field("peak", device.peak)
        .field("reserved", device.reserved)
        .field("cached", device.cached)
        .field("released", device.released)
        .field("limit", device.limit)
        .field("floor", device.floor)
        .close_object();
  }
  json.close_array().open_array("sessions");
  for (const SessionMemory& session : sessions) {
    json.open_object()
        .field("session", session.session)
        .field("id", session.id)
        .field("incarnation", session.incarnation)
        .field("in_use", session.in_use)
        .field("peak", session.peak)
        .field("charged", session.charged)
        .field("held", session.held)
        .field("quota", session.quota)
        .close_object();
  }
  json.close_array().close_object();
  return json.take();
}

uint64_t LiveReport::objects() const {
  uint64_t total = 0;
  for (const LiveSession& session : sessions) total += session.objects.size();
  return total;
}

std::string LiveReport::to_string() const {
  std::string text = absl::StrCat(sessions.size(), " sessions, ", objects(), " objects, ",
                                  base::format_bytes(bytes), " in use\n");
  for (const LiveSession& session : sessions) {
    absl::StrAppend(&text, "  \"", session.session, "\" (incarnation ", session.incarnation, ", ",
                    session.retired ? "retired" : "live", ", ", session.handles, " handles, ",
                    base::format_bytes(session.bytes), ", made at ",
                    session.where, ")\n");
    for (const LiveObject& object : session.objects) {
      absl::StrAppend(&text, "    ", object.kind, " \"", object.name, "\" ",
                      base::format_bytes(object.bytes), ", ", object.handles,
                      " handles, made at ", object.where, "\n");
    }
  }
  text += runtime::holders_table(holders);
  return text;
}

std::string LiveReport::to_json() const {
  runtime::JsonWriter json;
  json.open_object().field("bytes", bytes).open_array("sessions");
  for (const LiveSession& session : sessions) {
    json.open_object()
        .field("session", session.session)
        .field("id", session.id)
        .field("incarnation", session.incarnation)
        .field_bool("retired", session.retired)
        .field("bytes", session.bytes)
        .field("handles", session.handles)
        .field("age_seconds", absl::ToDoubleSeconds(session.age))
        .field("where", session.where)
        .open_array("objects");
    for (const LiveObject& object : session.objects) {
      json.open_object()
          .field("kind", object.kind)
          .field("name", object.name)
          .field("handles", object.handles)
          .field("bytes", object.bytes)
          .field("where", object.where)
          .close_object();
    }
    json.close_array().close_object();
  }
  json.close_array();
  runtime::holders_json(json, holders);
  json.close_object();
  return json.take();
}

}  // namespace quiesce
