// Finds the modules below a folder.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "hlo_run/module_file.h"
#include "io/compression.h"
#include "io/module_text.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::string Head(const fs::path& path) {
  constexpr std::streamsize kBytes = 16384;
  std::string head(kBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kBytes);
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

// True if a file is a module by its name or, for ambiguous names, by its first bytes.
bool IsModule(const fs::path& path) {
  const std::string name(io::WithoutCompressionSuffix(path.filename().string()));
  for (const std::string_view ending : {".hlo", ".pb", ".binpb"}) {
    if (name.ends_with(ending)) return true;
  }
  const bool is_text = name.ends_with(".txt");
  const bool is_message =
      name.ends_with(".pbtxt") || name.ends_with(".textproto") || name.ends_with(".txtpb");
  if (!is_text && !is_message) return false;
  const std::string head = Head(path);
  // Compressed files are recognised by their names alone.
  if (io::CompressionOf(head) != io::Compression::kNone) return true;
  return io::LooksLikeHloText(head) || io::IsProtoText(head);
}

}  // namespace

absl::StatusOr<FoundModules> FindModules(const std::string& folder) {
  FoundModules found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string path = it->path().string();
    const std::string_view kind = SideFileKind(path);
    if (!kind.empty())
      ++found.skipped[std::string(kind)];
    else if (IsModule(it->path()))
      found.files.push_back(path);
    else
      ++found.skipped["other files"];
  }
  if (error) return absl::NotFoundError(fmt::format("{}: {}", folder, error.message()));
  std::sort(found.files.begin(), found.files.end());
  return found;
}

}  // namespace hlo
