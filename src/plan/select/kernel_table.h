#pragma once
// The table of kernels (kernels/kernels.def) as data, to be listed.

#include <string_view>

#include "absl/types/span.h"
#include "hlo_run/module.h"
#include "hlo_run/opcode.h"

namespace hlo::plan {

struct KernelRow {
  Opcode opcode;
  // The names in the table's columns; "None" if there is no kernel. `combiner` is the GPU's kernel for any
  // to_apply.
  std::string_view cpu, gpu, combiner;
  // The name of the condition, and the function.
  std::string_view condition;
  bool (*holds)(const Instruction& instruction);
};

absl::Span<const KernelRow> KernelTable();

}  // namespace hlo::plan
