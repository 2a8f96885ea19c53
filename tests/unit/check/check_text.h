#pragma once
// Parses and checks one HLO text.

#include <memory>
#include <string>

#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo {

struct CheckedText {
  std::shared_ptr<const SourceText> source;
  std::shared_ptr<Module> module;  // Null if parsing failed.
  Diagnostics diagnostics{1000};
  bool ok = false;

  std::string Rendered() const { return Render(diagnostics, *source); }
};

struct CheckTextOptions {
  CheckOptions check;
  int64_t replicas = 1;
  int64_t partitions = 1;
};

inline void CheckText(std::string text, const CheckTextOptions& options, CheckedText* result) {
  result->source = std::make_shared<const SourceText>("t.hlo", std::move(text));
  result->module = Parse(result->source, result->diagnostics,
                         {.strict = options.check.strict, .infer_shape = InferMissingShape});
  if (result->module == nullptr) return;
  if (options.replicas != 1) result->module->mutable_header().replica_count = options.replicas;
  if (options.partitions != 1) result->module->mutable_header().num_partitions = options.partitions;
  result->ok = Check(result->module, result->diagnostics, options.check).ok();
}

}  // namespace hlo
