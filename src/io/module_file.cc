// Reads modules from files: text or a serialised form, possibly compressed.

#include "hlo_run/module_file.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "google/protobuf/io/coded_stream.h"
#include "io/compression.h"
#include "io/foreign.h"
#include "io/module_text.h"
#include "io/proto_json.h"
#include "io/proto_text.h"
#include "io/text_format.h"
#include "io/wire_error.h"

namespace hlo {
namespace {

enum class Form { kText, kBinary, kProtoText, kJson };

// Delimited messages start with their length.
std::optional<std::string_view> DelimitedMessage(std::string_view bytes, size_t* begin) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(std::min<size_t>(bytes.size(), 16)));
  uint32_t size;
  if (!stream.ReadVarint32(&size)) return std::nullopt;
  *begin = static_cast<size_t>(stream.CurrentPosition());
  if (size == 0 || size > bytes.size() - *begin || bytes[*begin] != '\n') return std::nullopt;
  return bytes.substr(*begin, size);
}

Form FormOf(const SourceText& file) {
  const std::string_view head = file.content().substr(0, 4096);
  // HLO text is recognised independently of the file name.
  if (head.starts_with("HloModule ")) return Form::kText;
  const std::string_view name = io::WithoutCompressionSuffix(file.name());
  const std::string lower = absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
  if (lower.ends_with(".pb") || lower.ends_with(".binpb")) return Form::kBinary;
  if (lower.ends_with(".pbtxt") || lower.ends_with(".textproto") || lower.ends_with(".txtpb"))
    return Form::kProtoText;
  if (lower.ends_with(".json")) return Form::kJson;
  // Messages start with the tag of their first field, a line break, and soon contain bytes that are not text.
  const std::string_view first = head.substr(0, 256);
  const bool has_control = std::any_of(first.begin(), first.end(), [](char c) { return c >= 0 && c < '\t'; });
  size_t begin;
  if (has_control && (first[0] == '\n' || DelimitedMessage(file.content(), &begin))) return Form::kBinary;
  return io::IsProtoText(head) ? Form::kProtoText : Form::kText;
}

template <class Message>
bool Read(Form form, const std::string& bytes, Message* message, std::string* error) {
  if (form == Form::kBinary) return message->ParseFromString(bytes);
  std::string first;
  const bool read = io::ParseTextFormat(bytes, message, &first);
  if (error->empty()) *error = first;
  return read;
}

absl::Status ReadSnapshotValues(const proto::HloSnapshot& snapshot, ModuleFile* file) {
  if (snapshot.arguments_size() > 0 || snapshot.has_result()) file->arguments.emplace();
  for (const proto::LiteralProto& argument : snapshot.arguments()) {
    HLO_ASSIGN_OR_RETURN(Literal value, io::ValueOf(argument));
    file->arguments->push_back(std::move(value));
  }
  if (!snapshot.has_result()) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(Literal value, io::ValueOf(snapshot.result()));
  file->result = std::move(value);
  return absl::OkStatus();
}

// Reads the arguments after a delimited message.
absl::StatusOr<std::vector<Literal>> ReadArgumentsBehind(const proto::HloInputs& inputs,
                                                         std::string_view bytes) {
  std::vector<Literal> arguments;
  for (const proto::ArgumentDescriptor& descriptor : inputs.argument_descriptors()) {
    const auto size = static_cast<uint64_t>(descriptor.argument_size_bytes());
    if (size > bytes.size()) {
      return absl::InvalidArgumentError(fmt::format("ends too early: argument {} has {} of its {}",
                                                    arguments.size(), bytes.size(),
                                                    Counted(static_cast<int64_t>(size), "byte")));
    }
    HLO_ASSIGN_OR_RETURN(Literal value, io::LiteralOfBytes(bytes.substr(0, size)));
    arguments.push_back(std::move(value));
    bytes.remove_prefix(size);
  }
  return arguments;
}

// Reads a length-delimited HloUnoptimizedSnapshot and the arguments after it; nullopt if the bytes are
// something else.
absl::StatusOr<std::optional<std::string>> ReadDelimited(const std::string& bytes, ModuleFile* file) {
  size_t begin;
  const std::optional<std::string_view> message = DelimitedMessage(bytes, &begin);
  if (!message) return std::nullopt;
  proto::HloUnoptimizedSnapshot snapshot;
  if (!snapshot.ParseFromArray(message->data(), static_cast<int>(message->size())) ||
      snapshot.hlo_module().computations_size() == 0)
    return std::nullopt;
  if (snapshot.partitions_size() == 1) {
    HLO_ASSIGN_OR_RETURN(
        file->arguments,
        ReadArgumentsBehind(snapshot.partitions(0), std::string_view(bytes).substr(begin + message->size())));
  }
  HLO_ASSIGN_OR_RETURN(std::string text, io::TextOf(snapshot.hlo_module()));
  return text;
}

// Describes where the bytes stop being a message, in the form that is valid for longest.
std::string DamageOf(std::string_view bytes) {
  std::optional<io::WireError> last;
  for (const auto* type : {proto::HloModuleProto::descriptor(), proto::HloUnoptimizedSnapshot::descriptor(),
                           proto::HloSnapshot::descriptor()}) {
    std::optional<io::WireError> error = io::FindWireError(*type, bytes);
    if (!error) return "";
    if (!last || error->field.size() > last->field.size()) last = std::move(error);
  }
  return fmt::format(": the message is damaged or cut off at byte {} of {}{}", last->offset, bytes.size(),
                     last->field.empty() ? "" : fmt::format(", in {}", last->field));
}

// A message of another form may parse successfully, but it has no computations.
absl::StatusOr<std::string> ReadMessage(Form form, const std::string& bytes, ModuleFile* file) {
  if (form == Form::kJson) {
    HLO_ASSIGN_OR_RETURN(const proto::HloModuleProto module, io::MessageFromJson(bytes));
    return io::TextOf(module);
  }
  std::string error;
  proto::HloSnapshot snapshot;
  if (Read(form, bytes, &snapshot, &error) && snapshot.hlo().hlo_module().computations_size() > 0) {
    HLO_RETURN_IF_ERROR(ReadSnapshotValues(snapshot, file));
    return io::TextOf(snapshot.hlo().hlo_module());
  }
  proto::HloUnoptimizedSnapshot hlo;
  if (Read(form, bytes, &hlo, &error) && hlo.hlo_module().computations_size() > 0) {
    if (hlo.partitions_size() == 1) {
      snapshot.Clear();
      *snapshot.mutable_arguments() = hlo.partitions(0).arguments();
      HLO_RETURN_IF_ERROR(ReadSnapshotValues(snapshot, file));
    }
    return io::TextOf(hlo.hlo_module());
  }
  proto::HloModuleProto module;
  if (Read(form, bytes, &module, &error) && module.computations_size() > 0) return io::TextOf(module);
  if (form == Form::kBinary) {
    HLO_ASSIGN_OR_RETURN(std::optional<std::string> text, ReadDelimited(bytes, file));
    if (text) return *std::move(text);
    error = DamageOf(bytes);
  } else if (!error.empty()) {
    error = "; first error: " + error;
  }
  return absl::InvalidArgumentError(
      fmt::format("is neither an HloModuleProto, nor an HloProto, nor an HloSnapshot{}", error));
}

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", name, Message(status)));
}

}  // namespace

absl::StatusOr<ModuleFile> ParseModuleFile(std::shared_ptr<const SourceText> bytes) {
  ModuleFile file;
  const Form form = FormOf(*bytes);
  if (form == Form::kText) {
    file.text = std::move(bytes);
    return file;
  }
  if (bytes->content().size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: is larger than 2 GiB, the most a message may have", bytes->name()));
  }
  absl::StatusOr<std::string> text = ReadMessage(form, std::string(bytes->content()), &file);
  if (!text.ok())
    return absl::Status(text.status().code(), fmt::format("{}: {}", bytes->name(), Message(text.status())));
  file.text = std::make_shared<const SourceText>(bytes->name(), *std::move(text));
  return file;
}

absl::StatusOr<ModuleFile> ReadModuleFile(const std::string& path) {
  HLO_ASSIGN_OR_RETURN(const ModuleFiles files, ModuleFiles::Read(path));
  return files.whole();
}

absl::StatusOr<ModuleFiles> ModuleFiles::Read(const std::string& path, const ModuleFileOptions& options) {
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> bytes, SourceText::Read(path));
  if (io::CompressionOf(bytes->content()) != io::Compression::kNone) {
    absl::StatusOr<std::string> content = io::Decompress(bytes->content(), options.max_bytes);
    if (!content.ok()) return Named(bytes->name(), content.status());
    // Text must equal that of SourceText::Read, which drops the byte order mark.
    if (content->starts_with("\xef\xbb\xbf")) content->erase(0, 3);
    bytes = std::make_shared<const SourceText>(bytes->name(), *std::move(content));
  }
  const std::string name = bytes->name();
  const std::string_view side_kind = SideFileKind(name);
  const bool is_json = FormOf(*bytes) == Form::kJson;
  if (const std::optional<std::string> kind = io::ForeignContent(bytes->content()); kind && !is_json)
    return absl::InvalidArgumentError(fmt::format("{}: is not an HLO module: it is {}", name, *kind));
  ModuleFiles files;
  absl::StatusOr<ModuleFile> whole = ParseModuleFile(std::move(bytes));
  if (!whole.ok() && !side_kind.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is not an HLO module: it is of the {} that XLA dumps beside modules", name, side_kind));
  }
  HLO_RETURN_IF_ERROR(whole.status());
  files.whole_ = *std::move(whole);
  files.FindParts();
  return files;
}

// Splits text at lines of `// -----`; parts without code are dropped.
void ModuleFiles::FindParts() {
  constexpr std::string_view kSeparator = "// -----";
  const std::string_view text = whole_.text->content();
  Part part{0, 0, 1};
  const auto add = [&](size_t end) {
    part.end = end;
    if (io::HasCode(text.substr(part.begin, end - part.begin))) parts_.push_back(part);
  };
  int64_t line = 1;
  size_t counted = 0;
  for (size_t at = text.find(kSeparator); at != std::string_view::npos; at = text.find(kSeparator, at + 1)) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    const bool is_line = (at == 0 || text[at - 1] == '\n') &&
                         text.substr(at, line_end - at).find_first_not_of("/ -\r") == std::string_view::npos;
    if (!is_line) continue;
    add(at);
    line += std::count(text.begin() + static_cast<int64_t>(counted), text.begin() + static_cast<int64_t>(at),
                       '\n');
    counted = at;
    part = {at, 0, line};
  }
  add(text.size());
  if (parts_.empty()) parts_.push_back({0, text.size(), 1});
}

ModuleFile ModuleFiles::Get(size_t i) const {
  if (parts_.size() == 1) return whole_;
  const Part& part = parts_[i];
  // Leading empty lines preserve the line numbers.
  std::string content(static_cast<size_t>(part.line - 1), '\n');
  content += whole_.text->content().substr(part.begin, part.end - part.begin);
  ModuleFile file;
  file.text = std::make_shared<const SourceText>(whole_.text->name(), std::move(content));
  return file;
}

}  // namespace hlo
