#pragma once
// Shadow rules of collectives: values, bounds and trials of all devices are exchanged together.

#include <vector>

#include "absl/status/statusor.h"
#include "debug/shadow/layer_link.h"
#include "debug/shadow/shadow_rules.h"

namespace hlo::debug {

// True for collectives, sends and receives between devices, and conversions of shapes at manual regions.
// Instructions that complete a collective are structural.
bool IsExchange(const Instruction& instruction);

// The errors that an exchange adds to a float leaf of its result.
struct ExchangedLeaf {
  Literal own_error;  // As in RuleContext; invalid if the exchange only moves values.
  Literal local;      // The wide result for the declared operands.
  Literal local_low;  // Its low part in double-double; invalid if there is none.
  IllCondition ill_condition;
};
struct ExchangedValue {
  ShadowValue value;
  std::vector<ExchangedLeaf> leaves;  // By leaf of ShadowLeaves; empty if the exchange only moves values.
  bool is_estimated = false;
};

// The operands and callers of an exchange; `link` is null in a run of one device.
struct ExchangeContext {
  const Instruction& instruction;
  const Instruction& wide;
  const Instruction*
      pairs;  // The same instruction on pairs of f64; null unless it applies a computation to f64.
  absl::Span<const ShadowValue> operands;
  reference::Caller& declared_caller;
  reference::Caller& wide_caller;
  LayerLink* link;
};

absl::StatusOr<ExchangedValue> ApplyExchange(const ExchangeContext& context);

}  // namespace hlo::debug
