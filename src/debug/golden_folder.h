#pragma once
// Parses the modules that this folder makes, and writes them as golden folders.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "nlohmann/json_fwd.hpp"

namespace hlo::debug {

// Parses the text of an extracted part.
absl::StatusOr<std::shared_ptr<Module>> ParsedText(const std::string& text);
// Parses and checks it.
absl::StatusOr<CheckedModule> CheckedText(const std::string& text);

// The contents of a golden folder: module.hlo, inputs.npz if there are inputs, outputs.npz unless `outputs`
// is null, and case.json.
struct GoldenFolder {
  std::string module;
  const std::vector<Literal>& inputs;
  const Literal* outputs;
  const nlohmann::ordered_json& rules;  // Becomes case.json.
};
// Makes the folder if it does not exist.
absl::Status WriteGoldenFolder(const std::string& path, const GoldenFolder& folder);

}  // namespace hlo::debug
