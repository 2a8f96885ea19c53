#pragma once
/// \file
/// Estimates the work of instructions and modules from their shapes. Loop bodies count once, because trip
/// counts are data.

#include <cstdint>
#include <map>
#include <string_view>

#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

/// An amount of work. Counts saturate at INT64_MAX.
struct Cost {
  int64_t flops = 0;            ///< Floating-point operations; a multiply-add counts as two.
  int64_t transcendentals = 0;  ///< Elements of exp, log, sine, power, sqrt and similar functions.
  int64_t bytes_read = 0;       ///< The size of the operands.
  int64_t bytes_written = 0;    ///< The size of the results.
  Cost& operator+=(const Cost& other);
};

/// Returns the cost of an instruction, including the computations that it calls. A fusion reads only its
/// operands and writes only its results.
Cost InstructionCost(const Instruction& instruction);

/// The size and the cost of a module, which `hlo-run stats` prints.
struct ModuleStatistics {
  int64_t instructions = 0;
  std::map<std::string_view, int64_t> opcodes;        ///< Instructions in all computations by opcode name.
  std::map<std::string_view, int64_t> element_types;  ///< Instructions that have a result leaf of this type.
  /// The cost of the entry computation, including its callees.
  Cost entry;
  int64_t parameter_bytes = 0;
  int64_t result_bytes = 0;
  int64_t constant_bytes = 0;
  /// The peak size of live values when the entry computation runs in print order and frees each value after
  /// its last use. Parameters and constants are live throughout; tuple and get-tuple-element share their
  /// operands' bytes.
  int64_t peak_bytes = 0;
  int64_t longest_chain = 0;  ///< The number of instructions on the entry computation's critical path.
};
ModuleStatistics ComputeStatistics(const Module& module);

}  // namespace hlo
#pragma GCC visibility pop
