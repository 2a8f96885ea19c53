// Fuzzes parser and checker with arbitrary bytes: both must return a module or errors, in both modes, and
// valid modules must survive printing and parsing.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "hlo_run/check.h"
#include "hlo_run/cost.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"

namespace {

// Returns the module, or null if it does not parse or is invalid.
std::shared_ptr<hlo::Module> Read(std::string text, bool strict) {
  hlo::Diagnostics diagnostics;
  auto source = std::make_shared<const hlo::SourceText>("fuzz", std::move(text));
  std::shared_ptr<hlo::Module> module =
      hlo::Parse(source, diagnostics,
                 {.strict = strict, .infer_shape = hlo::InferMissingShape, .max_literal_bytes = 1 << 20});
  if (module == nullptr && diagnostics.ok()) std::abort();  // A rejection must have a message.
  (void)hlo::Render(diagnostics, *source);
  if (module == nullptr) return nullptr;
  const bool valid = hlo::Check(module, diagnostics, {.strict = strict}).ok();
  (void)hlo::Render(diagnostics, *source);
  if (!valid) {
    (void)hlo::Print(*module);
    return nullptr;
  }
  (void)hlo::ComputeStatistics(*module);
  return module;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Read(text, /*strict=*/true);
  const std::shared_ptr<hlo::Module> module = Read(text, /*strict=*/false);
  if (module == nullptr) return 0;
  const std::string once = hlo::Print(*module);
  const std::shared_ptr<hlo::Module> again = Read(once, /*strict=*/false);
  if (again == nullptr || hlo::Print(*again) != once) {
    std::fprintf(stderr, "not a fixed point:\n%s\n", once.c_str());
    std::abort();
  }
  return 0;
}
