#pragma once
// Modules that together use every function of the builder. programs/*.hlo contains their text, which XLA
// accepts.

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
