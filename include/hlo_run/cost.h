#pragma once
// How much work does a module stand for? Counts from shapes alone; loop bodies count once, since trip counts
// are data.

#include <cstdint>
#include <map>
#include <string_view>

#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

// Counts saturate at the largest int64 rather than overflow.
struct Cost {
  int64_t flops = 0;            // A multiply-add is two.
  int64_t transcendentals = 0;  // exp, log, sine, power, sqrt, ...: elements.
  int64_t bytes_read = 0;       // Operands.
  int64_t bytes_written = 0;    // Results.
  Cost& operator+=(const Cost& other);
};

// One instruction with the computations that it calls. Inside a fusion nothing is read or written but its
// operands and results.
Cost InstructionCost(const Instruction& instruction);

struct ModuleStatistics {
  int64_t instructions = 0;
  std::map<std::string_view, int64_t> opcodes;        // By name; all computations.
  std::map<std::string_view, int64_t> element_types;  // Instructions whose result has a leaf of the type.
  Cost entry;                                         // The entry computation with all that it calls.
  int64_t parameter_bytes = 0;
  int64_t result_bytes = 0;
  int64_t constant_bytes = 0;
  // Most bytes alive at once when the entry computation runs in print order and every value is freed after
  // its last use; parameters and constants live throughout, element and tuple instructions share their
  // operands' bytes.
  int64_t peak_bytes = 0;
  int64_t longest_chain = 0;  // Instructions on the longest path of dependencies of the entry computation.
};
ModuleStatistics ComputeStatistics(const Module& module);

}  // namespace hlo
#pragma GCC visibility pop
