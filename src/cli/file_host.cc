#include "cli/file_host.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/text_value.h"

namespace hlo::cli {
namespace {

// True if the archive has value i, as an array or as elements of a tuple.
bool HasValue(const Archive& archive, int64_t i) {
  const std::string key = fmt::format("{}", i), inside = key + ".";
  return std::any_of(archive.keys().begin(), archive.keys().end(),
                     [&](const std::string& k) { return k == key || k.starts_with(inside); });
}

absl::StatusOr<Literal> ReadUnder(Archive& archive, const std::string& key, const Shape& shape) {
  if (!shape.IsTuple()) return archive.Read(key, shape);
  std::vector<Literal> elements;
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    HLO_ASSIGN_OR_RETURN(Literal element, ReadUnder(archive, fmt::format("{}.{}", key, i),
                                                    shape.element(static_cast<int64_t>(i))));
    elements.push_back(std::move(element));
  }
  return Literal::Tuple(std::move(elements));
}

bool IsArchive(const std::string& source) {
  const std::optional<FileFormat> format = FileFormatOf(source);
  return format == FileFormat::kNpz || format == FileFormat::kSafetensors;
}

// Returns an error if the source is the name of a file that does not exist; otherwise "".
std::string MissingFile(const std::string& source) {
  std::error_code error;
  if (io::StartsWithShape(source) || !FileFormatOf(source) || std::filesystem::exists(source, error))
    return "";
  return fmt::format("there is no file '{}'", source);
}

}  // namespace

void AddHostFlags(CLI::App& app, HostOptions& options) {
  app.add_option("--infeed", options.infeed,
                 "A value that infeed, or recv from the host, receives: a literal, a .npy or .txt file, or "
                 "an .npz or .safetensors file with values under 0, 1, ...; repeatable, in the order of use")
      ->check(CLI::Validator(MissingFile, ""))
      ->type_name("VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--outfeed", options.outfeed,
                 "Store the values that outfeed, and send to the host, transfer: an .npz, .safetensors, "
                 ".json or .txt file")
      ->type_name("FILE");
  app.add_flag("--remove-infeed-outfeed", options.remove,
               "Evaluate as if the module had no infeed and outfeed: values from the host are zeros, values "
               "to the host are discarded");
}

void FileHost::NextSource() {
  ++source_;
  archive_ = nullptr;
  taken_from_archive_ = 0;
}

absl::StatusOr<Literal> FileHost::TakeFromArchive(const Shape& shape) {
  if (archive_ == nullptr) {
    HLO_ASSIGN_OR_RETURN(archive_, Archive::Open(options_.infeed[source_]));
  }
  HLO_ASSIGN_OR_RETURN(Literal value, ReadUnder(*archive_, fmt::format("{}", taken_from_archive_), shape));
  if (!HasValue(*archive_, ++taken_from_archive_)) NextSource();
  return value;
}

absl::StatusOr<Literal> FileHost::Read(const Instruction&, const Shape& shape) {
  if (source_ == options_.infeed.size()) {
    if (options_.remove) return Literal::CreateZeros(shape);
    return absl::FailedPreconditionError(
        fmt::format("takes value {} from the host, but --infeed gives {}", taken_ + 1, taken_));
  }
  ++taken_;
  const std::string& source = options_.infeed[source_];
  if (!io::StartsWithShape(source) && IsArchive(source)) return TakeFromArchive(shape);
  NextSource();
  if (io::StartsWithShape(source)) return io::ReadTextValue(SourceText("--infeed", source), shape);
  return ReadValue(source, shape);
}

absl::Status FileHost::Write(const Instruction&, Literal value) {
  if (!options_.outfeed.empty()) given_.push_back(std::move(value));
  return absl::OkStatus();
}

std::string FileHost::UnusedText() const {
  const size_t unused = source_ + (archive_ != nullptr ? 1 : 0);
  if (unused >= options_.infeed.size()) {
    if (options_.outfeed.empty() || !given_.empty()) return "";
    return fmt::format("--outfeed {} has no values: the module sends none to the host", options_.outfeed);
  }
  return fmt::format("--infeed {} is not used: the module takes {} from the host", options_.infeed[unused],
                     Counted(taken_, "value"));
}

absl::Status FileHost::Finish() const {
  return options_.outfeed.empty() ? absl::OkStatus() : WriteValues(options_.outfeed, given_);
}

}  // namespace hlo::cli
