// Reads and writes values: dispatches on the format and maps leaves to keys.

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"
#include "io/convert.h"
#include "io/file.h"
#include "io/json_archive.h"
#include "io/literal_proto.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/raw.h"
#include "io/safetensors.h"
#include "io/stored_type.h"
#include "io/text_value.h"

namespace hlo {
namespace {

absl::Status UnknownFormat(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("an empty text is neither a literal nor a file");
  if (path.starts_with('['))
    return absl::InvalidArgumentError(
        fmt::format("{}: literals have braces, such as {{{{1,2}},{{3,4}}}}", path));
  return absl::InvalidArgumentError(fmt::format(
      "{}: the ending of the name must be .npy, .npz, .safetensors, .json, .txt, .pb, .pbtxt, .bin or .raw",
      path));
}

absl::StatusOr<Literal> ReadNpyFile(const std::string& path, const Shape& expected,
                                    const ReadOptions& options) {
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<io::InputFile> file, io::InputFile::Open(path));
  std::unique_ptr<io::ByteStream> stream = io::StreamOf(*file);
  absl::StatusOr<Literal> value = io::ReadNpy(*stream, expected, options);
  if (value.ok()) return value;
  return absl::Status(value.status().code(), fmt::format("{}: {}", path, Message(value.status())));
}

absl::Status WriteNpy(const std::string& path, const Literal& value) {
  const std::vector<LiteralLeaf> leaves = ArrayLeaves(value);
  if (leaves.size() != 1) {
    return absl::FailedPreconditionError(
        fmt::format("{}: cannot be written: .npy holds one array, and there are {}; write an .npz file", path,
                    leaves.size()));
  }
  HLO_ASSIGN_OR_RETURN(Literal dense, io::ForStorage(*leaves[0].value));
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<io::OutputFile> file, io::OutputFile::Create(path));
  HLO_RETURN_IF_ERROR(file->Write(io::NpyHeader(dense.shape())));
  HLO_RETURN_IF_ERROR(file->Write(dense.data(), dense.byte_count()));
  return file->Commit();
}

}  // namespace

std::optional<FileFormat> FileFormatOf(std::string_view path) {
  const std::string lower = absl::AsciiStrToLower({path.data(), path.size()});
  if (absl::EndsWith(lower, ".npy")) return FileFormat::kNpy;
  if (absl::EndsWith(lower, ".npz")) return FileFormat::kNpz;
  if (absl::EndsWith(lower, ".safetensors")) return FileFormat::kSafetensors;
  if (absl::EndsWith(lower, ".txt")) return FileFormat::kText;
  if (absl::EndsWith(lower, ".bin") || absl::EndsWith(lower, ".raw")) return FileFormat::kRaw;
  if (absl::EndsWith(lower, ".json")) return FileFormat::kJson;
  if (absl::EndsWith(lower, ".pb") || absl::EndsWith(lower, ".binpb")) return FileFormat::kProto;
  if (absl::EndsWith(lower, ".pbtxt") || absl::EndsWith(lower, ".textproto") ||
      absl::EndsWith(lower, ".txtpb"))
    return FileFormat::kProtoText;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<Archive>> Archive::Open(const std::string& path) {
  const std::optional<FileFormat> format = FileFormatOf(path);
  if (format == FileFormat::kNpz) return io::OpenNpz(path);
  if (format == FileFormat::kSafetensors) return io::OpenSafetensors(path);
  if (format == FileFormat::kJson) return io::OpenJson(path);
  return absl::InvalidArgumentError(fmt::format("{}: is not an .npz, .safetensors or .json file", path));
}

absl::StatusOr<Literal> ReadTree(Archive& archive, const Shape& expected, const std::string& key,
                                 const ReadOptions& options) {
  if (expected.IsArray()) return archive.Read(key.empty() ? "0" : key, expected, options);
  if (!expected.IsTuple()) return Literal::Create(expected);
  std::vector<Literal> elements;
  for (size_t i = 0; i < expected.elements().size(); ++i) {
    const std::string inner = key.empty() ? fmt::format("{}", i) : fmt::format("{}.{}", key, i);
    HLO_ASSIGN_OR_RETURN(Literal element,
                         ReadTree(archive, expected.element(static_cast<int64_t>(i)), inner, options));
    elements.push_back(std::move(element));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> ReadValue(const std::string& path, const Shape& expected,
                                  const ReadOptions& options) {
  const std::optional<FileFormat> format = FileFormatOf(path);
  if (!format) return UnknownFormat(path);
  switch (*format) {
    case FileFormat::kProto:
    case FileFormat::kProtoText: {
      HLO_ASSIGN_OR_RETURN(const Literal value, io::ReadLiteralProto(path));
      absl::StatusOr<Literal> fitting = io::FitTo(value, expected, options);
      if (fitting.ok()) return fitting;
      return absl::Status(fitting.status().code(), fmt::format("{}: {}", path, Message(fitting.status())));
    }
    case FileFormat::kText: {
      HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> text, SourceText::Read(path));
      return io::ReadTextValue(*text, expected, options);
    }
    case FileFormat::kRaw:
      return io::ReadRaw(path, expected);
    case FileFormat::kNpy:
      if (expected.IsArray()) return ReadNpyFile(path, expected, options);
      return absl::FailedPreconditionError(
          fmt::format("{}: holds one array, expected {}; give an .npz file with the keys of its elements",
                      path, ToString(expected)));
    case FileFormat::kJson:
    case FileFormat::kNpz:
    case FileFormat::kSafetensors:
      break;
  }
  HLO_ASSIGN_OR_RETURN(std::unique_ptr<Archive> archive, Archive::Open(path));
  if (expected.IsArray() && archive->keys().size() == 1)
    return archive->Read(archive->keys()[0], expected, options);
  return ReadTree(*archive, expected, "", options);
}

absl::Status WriteValue(const std::string& path, const Literal& value) {
  const std::optional<FileFormat> format = FileFormatOf(path);
  if (!format) return UnknownFormat(path);
  switch (*format) {
    case FileFormat::kNpy:
      return WriteNpy(path, value);
    case FileFormat::kNpz:
      return io::WriteNpz(path, ArrayLeaves(value));
    case FileFormat::kSafetensors:
      return io::WriteSafetensors(path, ArrayLeaves(value));
    case FileFormat::kText:
      return io::WriteText(path, ToString(value) + "\n");
    case FileFormat::kRaw:
      return io::WriteRaw(path, value);
    case FileFormat::kJson:
      return io::WriteText(path, ToJson(value));
    case FileFormat::kProto:
    case FileFormat::kProtoText:
      return io::WriteLiteralProto(path, value);
  }
  return UnknownFormat(path);
}

absl::Status WriteValues(const std::string& path, absl::Span<const Literal> values) {
  if (values.size() > 1 && FileFormatOf(path) == FileFormat::kRaw) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: cannot be written: raw bytes hold one argument, and there are {}; write an .npz file", path,
        values.size()));
  }
  // A single argument is written as its literal instead of a tuple, since it is read in this form.
  const std::optional<FileFormat> format = FileFormatOf(path);
  const bool is_whole = format == FileFormat::kText || format == FileFormat::kProto ||
                        format == FileFormat::kProtoText || format == FileFormat::kRaw;
  if (values.size() == 1 && is_whole) return WriteValue(path, values[0]);
  return WriteValue(path, Literal::Tuple({values.begin(), values.end()}));
}

absl::Status WriteUnderPrefixes(const std::string& path, absl::Span<const std::string> prefixes,
                                absl::Span<const Literal> values) {
  std::vector<LiteralLeaf> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    for (const LiteralLeaf& leaf : ArrayLeaves(values[i]))
      arrays.push_back({prefixes[i] + leaf.key, leaf.value});
  }
  switch (FileFormatOf(path).value_or(FileFormat::kRaw)) {
    case FileFormat::kNpz:
      return io::WriteNpz(path, arrays);
    case FileFormat::kSafetensors:
      return io::WriteSafetensors(path, arrays);
    case FileFormat::kJson:
      return io::WriteText(path, io::JsonOf(arrays));
    default:
      return absl::FailedPreconditionError(
          fmt::format("{}: cannot be written: there are the values of {} devices; write an .npz, "
                      ".safetensors or .json file",
                      path, values.size()));
  }
}

namespace {

// Returns `written`, which has layouts, if it is the same shape; the header of a leniently read module may be
// wrong.
Shape WithLayoutsOf(const Shape& written, const Shape& shape) {
  return Equal(written, shape, {.ignore_layout = true}) ? written : shape;
}

}  // namespace

Shape ParameterShapeInMemory(const Module& module, int64_t parameter) {
  const Shape& shape = module.entry()->parameter(parameter)->shape();
  const auto& layout = module.header().entry_layout;
  if (layout == nullptr || parameter >= static_cast<int64_t>(layout->parameters.size())) return shape;
  return WithLayoutsOf(layout->parameters[static_cast<size_t>(parameter)], shape);
}

Shape ResultShapeInMemory(const Module& module) {
  const Shape& shape = module.entry()->root()->shape();
  const auto& layout = module.header().entry_layout;
  return layout == nullptr ? shape : WithLayoutsOf(layout->result, shape);
}

Literal InLayoutsOf(const Shape& shape, const Literal& value) {
  if (!shape.IsTuple()) {
    if (!shape.IsArray() || !Equal(shape, value.shape(), {.ignore_layout = true})) return value;
    return value.WithShape(shape);
  }
  std::vector<Literal> elements;
  for (size_t i = 0; i < value.elements().size() && i < shape.elements().size(); ++i) {
    elements.push_back(InLayoutsOf(shape.elements()[i], value.elements()[i]));
  }
  return elements.size() == value.elements().size() ? Literal::Tuple(std::move(elements)) : value;
}

}  // namespace hlo
