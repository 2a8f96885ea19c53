#include "cli/output_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace hlo::cli {
namespace {

std::filesystem::path Absolute(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal();
}

std::filesystem::path CommonFolder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::filesystem::path common;
  const auto [end, other_end] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  for (auto part = a.begin(); part != end; ++part) common /= *part;
  return common;
}

}  // namespace

bool IsOutputDirectory(const std::string& path) {
  std::error_code error;
  return !path.empty() && (path.back() == '/' || std::filesystem::is_directory(path, error));
}

OutputNames::OutputNames(std::string directory, const std::vector<std::string>& arguments)
    : directory_(std::move(directory)) {
  for (const std::string& argument : arguments) {
    if (argument == "-") continue;
    std::error_code error;
    std::filesystem::path folder = Absolute(argument);
    // The last component of `dumps/` is empty.
    if (!std::filesystem::is_directory(folder, error) || folder.filename().empty())
      folder = folder.parent_path();
    base_ = base_.empty() ? folder : CommonFolder(base_, folder);
  }
}

absl::StatusOr<std::string> OutputNames::For(const std::string& file, const std::string& ending) {
  std::filesystem::path relative = file == "-" ? "stdin" : Absolute(file).lexically_relative(base_);
  std::filesystem::path short_name = relative;
  short_name.replace_extension(ending);
  std::string name = short_name.string();
  for (int64_t copy = 1; !taken_.insert(name).second; ++copy)
    name = fmt::format("{}{}{}", relative.string(), copy > 1 ? fmt::format(".{}", copy) : "", ending);
  const std::filesystem::path path = directory_ / name;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return absl::FailedPreconditionError(
        fmt::format("cannot create the directory '{}': {}", path.parent_path().string(), error.message()));
  }
  return path.string();
}

}  // namespace hlo::cli
