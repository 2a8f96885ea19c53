#pragma once
// Follows NaNs and infinities from instruction to instruction.

#include <array>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "debug/dataflow.h"
#include "debug/trace/origins.h"

namespace hlo::debug {

// Observes a run that exposes every instruction.
class OriginTracker : public Observer {
 public:
  OriginTracker(const Module& module, bool keeps_operands)
      : module_(module), dataflow_(module), keeps_operands_(keeps_operands) {}

  bool needs_operands() const override { return keeps_operands_; }
  absl::Status AfterStep(const StepView& step) override;

  // Returns the origins, and the values from arguments and constants, of these kinds; `result` is the
  // module's result.
  OriginReport Report(const Literal& result, const OriginOptions& options);

 private:
  // A leaf of an instruction's result that holds NaNs or infinities.
  struct Event {
    LeafId leaf;
    std::vector<int32_t> parents;  // The events of the operands from which the values propagate.
    int32_t origin = -1;           // Index into origins_.
    int32_t given = -1;            // Index into given_.
  };
  struct Chain {
    std::vector<Event> events;
    absl::flat_hash_map<LeafId, int32_t> event_of;
  };

  Chain& ChainOf(SpecialKind kind) { return chains_[static_cast<size_t>(kind)]; }
  void Note(const StepView& step, const StepValue& write, SpecialKind kind);
  // Returns the events of the operands that contain special values of a kind.
  std::vector<int32_t> Parents(const StepView& step, const StepValue& write, SpecialKind kind);
  // Returns the event of the argument or constant from which the operands have their special values, which it
  // records; nothing if there is none or it is not certain.
  std::vector<int32_t> GivenParents(const StepView& step, const StepValue& write, SpecialKind kind);
  // Returns the argument of the entry or the constant that is forwarded to the leaf; null unless there is
  // one.
  LeafId GivenSource(const LeafId& leaf) const;
  // Returns the event of a leaf, or the last one of the leaves that are forwarded to it; -1 if there is none.
  int32_t FindEvent(const Chain& chain, const LeafId& leaf) const;
  int32_t AddEvent(Chain& chain, Event event);
  void AddOrigin(const StepView& step, const StepValue& write, SpecialKind kind, int64_t position);
  void AddGiven(const LeafId& leaf, const Literal& value, SpecialKind kind, Event& event);
  // Returns the first position with a special value that no operand has there; -1 if there is none.
  int64_t PositionOfOrigin(const StepView& step, const StepValue& write, SpecialKind kind) const;
  void SetWays(const Literal& result);
  void SetPath(const Chain& chain, int32_t end, int64_t leaf);
  void SetEndOfPath(const Chain& chain);

  const Module& module_;
  const Dataflow dataflow_;
  const bool keeps_operands_;
  std::array<Chain, 2> chains_;
  std::vector<Origin> origins_;
  std::vector<GivenSpecial> given_;
};

}  // namespace hlo::debug
