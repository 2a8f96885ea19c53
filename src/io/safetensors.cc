#include "io/safetensors.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/stored_type.h"
#include "nlohmann/json.hpp"
#include "types/packing.h"

namespace hlo::io {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // The limit of the format.

struct TypeName {
  std::string_view text;
  ElementType type;
};
constexpr TypeName kTypeNames[] = {
    {"BOOL", ElementType::kPred},
    {"U8", ElementType::kU8},
    {"I8", ElementType::kS8},
    {"U16", ElementType::kU16},
    {"I16", ElementType::kS16},
    {"U32", ElementType::kU32},
    {"I32", ElementType::kS32},
    {"U64", ElementType::kU64},
    {"I64", ElementType::kS64},
    {"F16", ElementType::kF16},
    {"BF16", ElementType::kBF16},
    {"F32", ElementType::kF32},
    {"F64", ElementType::kF64},
    {"C64", ElementType::kC64},
    {"F8_E5M2", ElementType::kF8E5M2},
    {"F8_E4M3", ElementType::kF8E4M3FN},
    {"F8_E8M0", ElementType::kF8E8M0FNU},
    {"F4", ElementType::kF4E2M1FN},  // Two per byte, the first one in the low-order bits.
    {"F8_E4M3FNUZ", ElementType::kF8E4M3FNUZ},
    {"F8_E5M2FNUZ", ElementType::kF8E5M2FNUZ},
};

StoredType StoredTypeOf(const std::string& text) {
  StoredType stored{.text = text};
  for (const TypeName& name : kTypeNames) {
    if (name.text != text) continue;
    stored.type = name.type;
    stored.byte_count = ByteCount(name.type);
    stored.is_bits = IsUnsigned(name.type);
  }
  return stored;
}

// Types without a name in the format are stored as U8.
std::optional<std::string_view> TypeNameOf(ElementType type) {
  for (const TypeName& name : kTypeNames) {
    if (name.type == type) return name.text;
  }
  return ByteCount(type) == 1 ? std::optional<std::string_view>("U8") : std::nullopt;
}

// True for F4, the only named type narrower than a byte, which is packed.
bool IsPacked(const StoredType& stored) { return stored.type && IsSubByte(*stored.type); }

absl::StatusOr<Literal> ReadPacked(const StoredArray& array, const Shape& expected, ByteStream& stream,
                                   const ReadOptions& options) {
  const ElementType type = *array.type.type;
  if (!DimsFit(array.dims, expected) || (type != expected.type() && !options.convert))
    return absl::FailedPreconditionError(fmt::format("found {}, expected {}{}", ToString(array),
                                                     ToString(expected),
                                                     DimsFit(array.dims, expected) ? kConvertHint : ""));
  HLO_ASSIGN_OR_RETURN(Literal value, Literal::Create(Shape::Array(type, array.dims)));
  const int64_t byte_count = PackedByteCount(type, value.element_count());
  if (byte_count != stream.remaining()) {
    return absl::FailedPreconditionError(fmt::format("{} has {} of elements, but the file holds {}",
                                                     ToString(array), Counted(byte_count, "byte"),
                                                     stream.remaining()));
  }
  std::vector<std::byte> packed(static_cast<size_t>(byte_count));
  HLO_RETURN_IF_ERROR(stream.Read(packed.data(), byte_count));
  Unpack(type, packed.data(), value.element_count(), value.mutable_data());
  return FitTo(value, expected, options);
}

// True if the array is packed. Arrays whose packed elements do not fill the last byte are stored as U8.
bool CanPack(const Literal& value) {
  return TypeNameOf(value.type()) != "U8" && IsSubByte(value.type()) &&
         value.element_count() * BitWidth(value.type()) % 8 == 0;
}
absl::StatusOr<Literal> PackedBytes(const Literal& value) {
  const int64_t count = PackedByteCount(value.type(), value.element_count());
  HLO_ASSIGN_OR_RETURN(Literal packed, Literal::Create(Shape::Array(ElementType::kU8, {count})));
  Pack(value.type(), value.data(), value.element_count(), packed.mutable_data());
  return packed;
}

struct Entry {
  StoredArray array;
  int64_t begin = 0, end = 0;  // Offsets in the file.
};

bool ReadSize(const Json& json, int64_t* out) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > uint64_t{1} << 62) return false;
  *out = json.get<int64_t>();
  return true;
}

class SafetensorsArchive final : public Archive {
 public:
  explicit SafetensorsArchive(std::unique_ptr<InputFile> file) : file_(std::move(file)) {}

  absl::Status ReadDirectory() {
    uint8_t length[8];
    if (file_->byte_count() < 8) return Malformed("it is too short");
    HLO_RETURN_IF_ERROR(file_->ReadAt(0, length, 8));
    uint64_t header_bytes = 0;
    for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | length[i];
    const int64_t limit = std::min(kMaxSafetensorsHeaderBytes, file_->byte_count() - 8);
    if (header_bytes > static_cast<uint64_t>(limit)) {
      return Malformed(fmt::format("its header claims {} bytes", header_bytes));
    }
    std::string text(header_bytes, '\0');
    HLO_RETURN_IF_ERROR(file_->ReadAt(8, text.data(), static_cast<int64_t>(header_bytes)));
    const Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!header.is_object()) return Malformed("its header is not a JSON object");
    const int64_t data_begin = 8 + static_cast<int64_t>(header_bytes);
    for (const auto& [name, json] : header.items()) {
      if (name == "__metadata__") continue;
      Entry entry;
      if (!ReadEntry(json, data_begin, &entry))
        return Malformed(fmt::format("the entry of '{}' is wrong", name));
      entries_.emplace(name, std::move(entry));
      keys_.push_back(name);
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& keys() const override { return keys_; }

  absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                 const ReadOptions& options) override {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      return absl::NotFoundError(fmt::format("{}: has no tensor '{}'", file_->path(), key));
    }
    const Entry& entry = found->second;
    const std::unique_ptr<ByteStream> stream = StreamOf(*file_, entry.begin, entry.end);
    absl::StatusOr<Literal> value = IsPacked(entry.array.type)
                                        ? ReadPacked(entry.array, expected, *stream, options)
                                        : ReadElements(entry.array, expected, *stream, options);
    if (!value.ok()) {
      return absl::Status(value.status().code(),
                          fmt::format("{}: tensor '{}': {}", file_->path(), key, Message(value.status())));
    }
    return value;
  }

 private:
  absl::Status Malformed(std::string_view what) const {
    return absl::FailedPreconditionError(
        fmt::format("{}: is not a well-formed .safetensors file: {}", file_->path(), what));
  }
  bool ReadEntry(const Json& json, int64_t data_begin, Entry* entry) const {
    if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets")) {
      return false;
    }
    const Json& offsets = json["data_offsets"];
    const Json& shape = json["shape"];
    if (!json["dtype"].is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
      return false;
    entry->array.type = StoredTypeOf(json["dtype"].get<std::string>());
    for (const Json& size : shape) {
      if (!ReadSize(size, &entry->array.dims.emplace_back())) return false;
    }
    if (!ReadSize(offsets[0], &entry->begin) || !ReadSize(offsets[1], &entry->end)) return false;
    entry->begin += data_begin;
    entry->end += data_begin;
    return entry->begin <= entry->end && entry->end <= file_->byte_count();
  }

  std::unique_ptr<InputFile> file_;
  std::vector<std::string> keys_;
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Archive>> OpenSafetensors(const std::string& path) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> file, InputFile::Open(path));
  auto archive = std::make_unique<SafetensorsArchive>(std::move(file));
  HLO_RETURN_IF_ERROR(archive->ReadDirectory());
  return archive;
}

absl::Status WriteSafetensors(const std::string& path, absl::Span<const LiteralLeaf> arrays) {
  Json header = Json::object();
  std::vector<Literal> dense;
  int64_t offset = 0;
  for (const LiteralLeaf& leaf : arrays) {
    HLO_ASSIGN_OR_RETURN(Literal value, ForStorage(*leaf.value));
    std::optional<std::string_view> type = TypeNameOf(value.type());
    if (IsSubByte(value.type()) && !CanPack(value)) type = "U8";
    if (!type) {
      return absl::FailedPreconditionError(
          fmt::format("{}: cannot be written: .safetensors has no {}, the type of "
                      "output {}; write an .npz file",
                      path, Name(value.type()), leaf.key));
    }
    const std::vector<int64_t> dims(value.dims().begin(), value.dims().end());
    if (CanPack(value)) {
      HLO_ASSIGN_OR_RETURN(value, PackedBytes(value));
    }
    header[leaf.key] = {
        {"dtype", *type}, {"shape", dims}, {"data_offsets", {offset, offset + value.byte_count()}}};
    offset += value.byte_count();
    dense.push_back(std::move(value));
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  HLO_RETURN_IF_ERROR(file->Write(length));
  HLO_RETURN_IF_ERROR(file->Write(text));
  for (const Literal& value : dense) HLO_RETURN_IF_ERROR(file->Write(value.data(), value.byte_count()));
  return file->Commit();
}

}  // namespace hlo::io
