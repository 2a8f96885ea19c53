// Modules in files: text, or one of the serialised forms.

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "fmt/format.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "hlo_run/io.h"
#include "io/proto_text.h"

namespace hlo {
namespace {

enum class Form { kText, kBinary, kProtoText };

// Whether the text begins as the protobuf text of a dump does: `hlo_module { name: ...`. A computation of
// that name would go on with `x = ...`.
bool IsProtoText(absl::string_view text) {
  const auto skip = [&](auto is_part) {
    size_t n = 0;
    while (n < text.size() && is_part(static_cast<unsigned char>(text[n]))) ++n;
    const absl::string_view skipped = text.substr(0, n);
    text.remove_prefix(n);
    return skipped;
  };
  const auto is_space = [](unsigned char c) { return absl::ascii_isspace(c); };
  const auto is_word = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  skip(is_space);
  const absl::string_view field = skip(is_word);
  skip(is_space);
  if ((field != "hlo" && field != "hlo_module") || !absl::ConsumePrefix(&text, "{")) return false;
  skip(is_space);
  const bool has_field = !skip(is_word).empty();
  skip(is_space);
  return has_field && (absl::StartsWith(text, ":") || absl::StartsWith(text, "{"));
}

Form FormOf(const SourceText& file) {
  const std::string lower = absl::AsciiStrToLower(file.name());
  if (absl::EndsWith(lower, ".pb") || absl::EndsWith(lower, ".binpb")) return Form::kBinary;
  if (absl::EndsWith(lower, ".pbtxt") || absl::EndsWith(lower, ".textproto") ||
      absl::EndsWith(lower, ".txtpb"))
    return Form::kProtoText;
  // Messages begin with the tag of their first field, a line break, and soon have bytes that no text has.
  const std::string_view head = file.content().substr(0, 256);
  const bool has_control = std::any_of(head.begin(), head.end(), [](char c) { return c >= 0 && c < '\t'; });
  if (!head.empty() && head[0] == '\n' && has_control) return Form::kBinary;
  return IsProtoText(absl::string_view(head.data(), head.size())) ? Form::kProtoText : Form::kText;
}

// Keeps the first error, for messages.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("{}:{}: {}", line + 1, column + 1, message);
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class Message>
bool Read(Form form, const std::string& bytes, Message* message, std::string* error) {
  if (form == Form::kBinary) return message->ParseFromString(bytes);
  FirstError first;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(100);
  parser.RecordErrorsTo(&first);
  const bool read = parser.ParseFromString(bytes, message);
  if (error->empty()) *error = first.text();
  return read;
}

absl::Status ReadSnapshotValues(const proto::HloSnapshot& snapshot, ModuleFile* file) {
  if (snapshot.arguments_size() > 0 || snapshot.has_result()) file->arguments.emplace();
  for (const proto::LiteralProto& argument : snapshot.arguments()) {
    HLO_ASSIGN_OR_RETURN(Literal value, io::LiteralOf(argument));
    file->arguments->push_back(std::move(value));
  }
  if (!snapshot.has_result()) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(Literal value, io::LiteralOf(snapshot.result()));
  file->result = std::move(value);
  return absl::OkStatus();
}

// A message of one form may be read as one of another, which then lacks computations.
absl::StatusOr<std::string> ReadMessage(Form form, const std::string& bytes, ModuleFile* file) {
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
  return absl::InvalidArgumentError(
      fmt::format("is neither an HloModuleProto, nor an HloProto, nor an HloSnapshot{}{}",
                  error.empty() ? "" : "; first error: ", error));
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
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> bytes, SourceText::Read(path));
  return ParseModuleFile(std::move(bytes));
}

}  // namespace hlo
