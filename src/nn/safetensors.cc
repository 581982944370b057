#include "nn/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "nn/atomic_file.h"
#include "quiesce/errors.h"

// The format: 8 bytes of length (little-endian), that many bytes of JSON
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …, "__metadata__": {…}}
// and the tensors' bytes without gaps; offsets count from the end of the JSON.
namespace quiesce::nn {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own bound
constexpr char kMetadataKey[] = "__metadata__";

struct Place {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin;
  uint64_t end;
};

const char* code_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "F32";
    case DType::kUInt8:
      return "U8";
    case DType::kInt32:
      return "I32";
    case DType::kInt64:
      return "I64";
  }
  return "";
}

absl::Status corrupt(const std::string& path, absl::string_view what) {
  return base::make_error(ErrorKind::kCorruptData,
                          absl::StrCat(path, " is not a sound safetensors file: ", what));
}

absl::StatusOr<uint64_t> whole_number(const Json& value, const std::string& path,
                                      absl::string_view what) {
  if (!value.is_number_unsigned()) {
    return corrupt(path, absl::StrCat(what, " holds something that is not a whole number"));
  }
  return value.get<uint64_t>();
}

absl::StatusOr<Place> read_place(const std::string& path, const std::string& name,
                                 const Json& entry) {
  Place place;
  place.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets") || !entry["dtype"].is_string() ||
      !entry["shape"].is_array() || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2) {
    return corrupt(path, absl::StrCat("tensor \"", name, "\" lacks dtype, shape or data_offsets"));
  }
  const std::string code = entry["dtype"].get<std::string>();
  bool known = false;
  for (DType dtype : {DType::kFloat32, DType::kUInt8, DType::kInt32, DType::kInt64}) {
    if (code == code_of(dtype)) {
      place.dtype = dtype;
      known = true;
    }
  }
  if (!known) {
    return base::make_error(ErrorKind::kUnsupported,
                            absl::StrCat(path, ": tensor \"", name, "\" has element type ", code,
                                         "; F32, U8, I32 and I64 can be read"));
  }
  if (entry["shape"].size() > static_cast<size_t>(Shape::kMaxRank)) {
    return base::make_error(
        ErrorKind::kUnsupported,
        absl::StrCat(path, ": tensor \"", name, "\" has rank ", entry["shape"].size(), "; up to ",
                     Shape::kMaxRank, " can be read"));
  }
  std::vector<int64_t> dims;
  uint64_t bytes = dtype_bytes(place.dtype);
  for (const Json& extent : entry["shape"]) {
    QUIESCE_ASSIGN_OR_RETURN(const uint64_t size, whole_number(extent, path, "a shape"));
    if (__builtin_mul_overflow(bytes, size, &bytes) ||
        bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return corrupt(path, absl::StrCat("the shape of tensor \"", name, "\" is too large"));
    }
    dims.push_back(static_cast<int64_t>(size));
  }
  place.shape = Shape(absl::MakeConstSpan(dims));
  QUIESCE_ASSIGN_OR_RETURN(place.begin, whole_number(entry["data_offsets"][0], path, "an offset"));
  QUIESCE_ASSIGN_OR_RETURN(place.end, whole_number(entry["data_offsets"][1], path, "an offset"));
  if (place.end < place.begin || place.end - place.begin != bytes) {
    return corrupt(path, absl::StrCat("tensor \"", name, "\" of ", bytes,
                                      " bytes has offsets from ", place.begin, " to ", place.end));
  }
  return place;
}

Tensor copy_tensor(const Place& place, const char* bytes) {
  Tensor made = Tensor::zeros(place.shape, place.dtype);
  if (made.bytes() == 0) return made;
  void* to = nullptr;
  switch (place.dtype) {
    case DType::kFloat32:
      to = made.mutable_span<float>().data();
      break;
    case DType::kUInt8:
      to = made.mutable_span<uint8_t>().data();
      break;
    case DType::kInt32:
      to = made.mutable_span<int32_t>().data();
      break;
    case DType::kInt64:
      to = made.mutable_span<int64_t>().data();
      break;
  }
  std::memcpy(to, bytes, made.bytes());
  return made;
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

absl::Status write_safetensors(const std::string& path, const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) {
    Json texts = Json::object();
    for (const auto& [key, text] : file.metadata) texts[key] = text;
    header[kMetadataKey] = std::move(texts);
  }
  uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const uint64_t end = offset + tensor.bytes();
    Json shape = Json::array();
    for (int64_t extent : tensor.shape().dims()) shape.push_back(extent);
    header[name] = {{"dtype", code_of(tensor.dtype())},
                    {"shape", std::move(shape)},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Bytes that are not UTF-8 in a name are replaced, never thrown about.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start at a multiple of 8

  std::string length(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  }
  std::vector<std::string_view> pieces = {length, text};
  for (const auto& [name, tensor] : file.tensors) {
    pieces.emplace_back(static_cast<const char*>(tensor.data()), tensor.bytes());
  }
  return write_file_atomically(path, pieces);
}

absl::StatusOr<TensorFile> read_safetensors(const std::string& path) {
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<char> bytes, read_whole_file(path));
  if (bytes.size() < kLengthBytes) {
    return corrupt(path, absl::StrCat("it has ", bytes.size(), " bytes, the length alone takes 8"));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    return corrupt(path, absl::StrCat("its header says it has ", length, " bytes, the file has ",
                                      bytes.size() - kLengthBytes, " left"));
  }
  const char* text = bytes.data() + kLengthBytes;
  const Json header = Json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) {
    return corrupt(path, "its header is not a JSON object");
  }

  TensorFile file;
  std::vector<Place> places;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      if (!entry.is_object()) return corrupt(path, "its __metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return corrupt(path, "its __metadata__ holds more than texts");
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    QUIESCE_ASSIGN_OR_RETURN(Place place, read_place(path, name, entry));
    places.push_back(std::move(place));
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const char* body = text + length;
  const uint64_t body_bytes = bytes.size() - kLengthBytes - length;
  uint64_t offset = 0;
  for (const Place& place : places) {
    if (place.begin != offset) {
      return corrupt(path, absl::StrCat("tensor \"", place.name, "\" starts at ", place.begin,
                                        " where ", offset, " was due"));
    }
    offset = place.end;
  }
  if (offset != body_bytes) {
    return corrupt(path, absl::StrCat("its tensors take ", offset, " bytes, the file has ",
                                      body_bytes, " of them"));
  }
  for (const Place& place : places) {
    file.tensors.emplace_back(place.name, copy_tensor(place, body + place.begin));
  }
  return file;
}

}  // namespace quiesce::nn
