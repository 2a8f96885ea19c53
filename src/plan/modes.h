#pragma once
// Ways to plan that change how a module runs and never what it computes: for tests, and to find out which of
// them a wrong result is due to.

#include <cstdint>

namespace hlo::plan {

struct Modes {
  bool fuses = true;                // Instructions become loops together.
  int64_t least_product = 4 << 20;  // Bytes of a product's result that a loop joins.
  bool works_in_place = true;       // Buffers are taken over by what is computed from them.
};

// Of the plans that are made from here on. Not while one is made.
void SetModes(const Modes& modes);
const Modes& CurrentModes();

}  // namespace hlo::plan
