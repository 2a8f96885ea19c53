#include "vectors.h"

#include <fstream>

#include "hlo_run/check.h"
#include "hlo_run/parse.h"
#include "nlohmann/json.hpp"

namespace hlo {

std::vector<PrintVector> PrintVectors() {
  std::vector<PrintVector> vectors;
  std::ifstream file("tests/vectors/text-format.jsonl");
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    if (!row.contains("printed")) continue;
    vectors.push_back({row["id"], row["text"], row.value("style", ""), row["printed"]});
  }
  return vectors;
}

std::unique_ptr<Module> Read(std::string_view text, std::string* error) {
  const auto source = std::make_shared<const SourceText>("text", std::string(text));
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics, {.infer_shape = &InferMissingShape});
  if (module == nullptr) *error = Render(diagnostics, *source);
  return module;
}

}  // namespace hlo
