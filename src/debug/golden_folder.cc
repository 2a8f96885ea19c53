#include "debug/golden_folder.h"

#include <filesystem>

#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "io/file.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {

absl::StatusOr<std::shared_ptr<Module>> ParsedText(const std::string& text) {
  const auto source = std::make_shared<const SourceText>("extracted", text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(source, diagnostics, {.infer_shape = InferMissingShape});
  if (module == nullptr) return diagnostics.ToStatus(*source);
  return module;
}

absl::StatusOr<CheckedModule> CheckedText(const std::string& text) {
  HLO_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, ParsedText(text));
  Diagnostics diagnostics;
  return Check(module, diagnostics);
}

absl::Status WriteGoldenFolder(const std::string& path, const GoldenFolder& folder) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return absl::UnavailableError(fmt::format("cannot make the folder '{}': {}", path, error.message()));
  HLO_RETURN_IF_ERROR(io::WriteText(path + "/module.hlo", folder.module));
  if (!folder.inputs.empty()) HLO_RETURN_IF_ERROR(WriteValues(path + "/inputs.npz", folder.inputs));
  if (folder.outputs != nullptr) HLO_RETURN_IF_ERROR(WriteValue(path + "/outputs.npz", *folder.outputs));
  // The description may hold a file name that is not UTF-8.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  return io::WriteText(path + "/case.json", folder.rules.dump(2, ' ', false, replace) + "\n");
}

}  // namespace hlo::debug
