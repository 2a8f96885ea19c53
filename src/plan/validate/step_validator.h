#pragma once
// Validates one step, control flow excluded, against the memory model.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "plan/validate/memory_model.h"
#include "plan/validate/program_checks.h"
#include "plan/validate/source_checks.h"

namespace hlo::plan {

class StepValidator {
 public:
  StepValidator(const Plan& plan, MemoryModel& memory)
      : plan_(plan),
        graph_(plan.graph),
        memory_(memory),
        sources_(graph_),
        byte_counts_(graph_.values.size(), -1) {}

  // Checks the operands and results of the step, and updates the memory model.
  absl::Status Run(const Step& step);

  // Returns Internal if the buffer does not contain the value.
  absl::Status Read(Slot slot, ValueId value) const;
  // Returns Internal if the buffer is a constant or an argument.
  absl::Status CheckWritable(Slot slot) const;

  const Buffer& BufferOf(Slot slot) const { return plan_.buffers[slot]; }
  bool IsSlot(Slot slot) const { return slot >= 0 && slot < static_cast<Slot>(plan_.buffers.size()); }

 private:
  // A buffer that a step accesses, and the value that it was planned with.
  struct Argument {
    Slot slot;
    ValueId value;
    bool is_write;
  };

  std::string Content(Slot slot) const;
  int64_t ByteCountOf(ValueId value);
  absl::Status FindArguments(const Step& step);
  absl::Status CheckBase(const Step& step, absl::Span<const Argument> arguments) const;
  bool SkipsCopy(const TileStep& tiles) const;
  absl::Status Tiles(const TileStep& tiles, absl::Span<const Argument> arguments);
  absl::Status CheckRows(const RowsStep& rows) const;
  absl::Status CheckSharing(const Step& step, absl::Span<const Argument> arguments) const;
  bool IsUpdated(const KernelStep& step, Slot operand, Slot result) const;
  ProgramArguments OfSlots() const { return {byte_count_, overlap_, same_}; }
  absl::Status CheckPrograms(const Step& step) const;

  const Plan& plan_;
  const Graph& graph_;
  MemoryModel& memory_;
  SourceChecker sources_;
  std::vector<int64_t> byte_counts_;  // Indexed by value; -1: not computed yet.
  // The arguments of the current step, in the order of VisitSlots.
  std::vector<Argument> arguments_;
  std::function<std::optional<int64_t>(int32_t)> byte_count_ = [this](int32_t slot) {
    return std::optional<int64_t>(BufferOf(slot).byte_count);
  };
  std::function<bool(int32_t, int32_t)> overlap_ = [this](int32_t a, int32_t b) {
    return memory_.Overlap(a, b);
  };
  std::function<bool(int32_t, int32_t)> same_ = [this](int32_t a, int32_t b) {
    return memory_.Canonical(a) == memory_.Canonical(b);
  };
};

}  // namespace hlo::plan
