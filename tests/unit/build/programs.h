#pragma once
// Modules built with every function of the builder. Their text is pinned in programs/*.hlo, which XLA reads.

#include <functional>
#include <string>
#include <vector>

#include "hlo_run/builder.h"

namespace hlo::build {

struct Program {
  std::string name;
  std::function<Op(Builder&)> build;  // Returns the root.
};
const std::vector<Program>& Programs();

}  // namespace hlo::build
