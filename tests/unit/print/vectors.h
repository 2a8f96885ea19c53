#pragma once
// The snippets of tests/vectors/text-format.jsonl that XLA accepts and prints, and reading text for a test.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/module.h"

namespace hlo {

struct PrintVector {
  std::string id;
  std::string text;
  std::string style;    // "" (long), exact, short, canonical or fingerprint.
  std::string printed;  // By XLA.
};
std::vector<PrintVector> PrintVectors();

// The module, or nullptr with the errors in `error`.
std::unique_ptr<Module> Read(std::string_view text, std::string* error);

// Why XLA's bytes are not ours for this vector, by design; "" where they must be.
std::string_view ReasonToDiffer(std::string_view id);
// Why the vector's text is refused by design; "" where it must be read.
std::string_view ReasonToRefuse(std::string_view id);

}  // namespace hlo
