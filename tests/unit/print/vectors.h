#pragma once
// The snippets of tests/vectors/text-format.jsonl that XLA accepts and prints, and a parser for tests.

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
  std::string printed;  // XLA's output.
};
std::vector<PrintVector> PrintVectors();

// Returns the module, or nullptr with the errors in `error`.
std::unique_ptr<Module> Read(std::string_view text, std::string* error);

// Returns the reason for a deliberate difference from XLA's bytes; "" if they must be equal.
std::string_view ReasonToDiffer(std::string_view id);
// Returns the reason for which the vector's text is deliberately rejected; "" if it must be accepted.
std::string_view ReasonToRefuse(std::string_view id);

}  // namespace hlo
