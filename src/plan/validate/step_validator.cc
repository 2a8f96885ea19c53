#include "plan/validate/step_validator.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "fmt/format.h"
#include "plan/validate/source_checks.h"
#include "plan/visit.h"

namespace hlo::plan {

using loops::Access;

namespace {

// Returns the number of elements that the step stores to the buffer.
int64_t StoredCount(const TileStep& tiles, Slot slot) {
  int64_t count = 0;
  for (const loops::LoopProgram& program : tiles.programs) {
    for (const auto& store : program.stores()) {
      if (program.access(store.access).argument == slot)
        count += program.outer_count() * program.inner_count();
    }
  }
  return count;
}

// Returns the slot of an argument of a loop inside a step; -1: it exists only block by block.
template <class Leaves>
Slot SlotOf(const Leaves& step, int32_t argument) {
  const size_t number = argument, operands = step.operands.size();
  if (number < operands) return step.operands[number];
  return number - operands < step.results.size() ? step.results[number - operands] : -1;
}

}  // namespace

std::string StepValidator::Content(Slot slot) const {
  std::vector<std::string> names;
  for (const ValueId v : memory_.ValuesAt(slot)) names.push_back(NameOf(graph_, v));
  return names.empty() ? "nothing that is whole" : absl::StrJoin(names, ", ");
}
absl::Status StepValidator::Read(Slot slot, ValueId value) const {
  if (!IsSlot(slot)) return absl::InternalError(fmt::format("there is no b{}", slot));
  if (memory_.Holds(slot, graph_.Resolve(value))) return absl::OkStatus();
  return absl::InternalError(fmt::format("it reads {} from b{}, which holds {}",
                                         NameOf(graph_, graph_.Resolve(value)), slot, Content(slot)));
}
absl::Status StepValidator::CheckWritable(Slot slot) const {
  if (!IsSlot(slot)) return absl::InternalError(fmt::format("there is no b{}", slot));
  const Buffer::Kind kind = BufferOf(slot).kind;
  const bool is_given = kind == Buffer::Kind::kConstant || kind == Buffer::Kind::kParameter ||
                        (kind == Buffer::Kind::kLiteral &&
                         (BufferOf(slot).parameter >= 0 || BufferOf(slot).constant != nullptr));
  if (!is_given) return absl::OkStatus();
  return absl::InternalError(fmt::format("it writes to b{}, which is {}", slot,
                                         kind == Buffer::Kind::kConstant ? "a constant" : "an argument"));
}

int64_t StepValidator::ByteCountOf(ValueId value) {
  int64_t& bytes = byte_counts_[value];
  if (bytes < 0) bytes = *DenseByteCount(graph_.values[value].shape);
  return bytes;
}

// Collects the operands and results of the step, in the order of VisitSlots.
absl::Status StepValidator::FindArguments(const Step& step) {
  std::vector<Argument>& arguments = arguments_;
  arguments.clear();
  bool fits = true;
  VisitSlots(step, [&](Slot slot, bool is_write) {
    fits &= IsSlot(slot) && arguments.size() < step.values.size();
    if (fits) arguments.push_back({slot, step.values[arguments.size()], is_write});
  });
  if (!fits || arguments.size() != step.values.size())
    return absl::InternalError("its buffers are not those that it was planned with");
  for (const Argument& argument : arguments) {
    const Buffer& buffer = BufferOf(argument.slot);
    const int64_t bytes = ByteCountOf(argument.value);
    if (buffer.kind != Buffer::Kind::kLiteral && buffer.byte_count != bytes)
      return absl::InternalError(fmt::format("b{} has {} bytes, but {} takes {}", argument.slot,
                                             buffer.byte_count, NameOf(graph_, argument.value), bytes));
  }
  return absl::OkStatus();
}

absl::Status StepValidator::Run(const Step& step) {
  HLO_RETURN_IF_ERROR(FindArguments(step));
  const absl::Span<const Argument> arguments = arguments_;
  absl::InlinedVector<ValueId, 16> reads, writes;
  for (const Argument& each : arguments) {
    if (each.is_write) HLO_RETURN_IF_ERROR(CheckWritable(each.slot));
    (each.is_write ? writes : reads).push_back(each.value);
  }
  if (const auto problem = sources_.Check(step, reads, writes)) return absl::InternalError(*problem);
  HLO_RETURN_IF_ERROR(CheckPrograms(step));
  HLO_RETURN_IF_ERROR(CheckBase(step, arguments));
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    HLO_RETURN_IF_ERROR(Tiles(*tiles, arguments));
  } else {
    for (const Argument& each : arguments) {
      if (!each.is_write) HLO_RETURN_IF_ERROR(Read(each.slot, each.value));
    }
    HLO_RETURN_IF_ERROR(CheckSharing(step, arguments));
  }
  for (const Argument& each : arguments) {
    if (each.is_write) memory_.Overwrite(each.slot);
  }
  for (const Argument& each : arguments) {
    if (each.is_write) memory_.Add(each.slot, each.value);
  }
  for (const Argument& each : arguments) {
    const auto overlaps = [&](const Argument& other) {
      return other.is_write && other.value != each.value && memory_.Overlap(other.slot, each.slot);
    };
    if (each.is_write && std::any_of(arguments.begin(), arguments.end(), overlaps))
      return absl::InternalError(fmt::format("two of its results share b{}", each.slot));
  }
  return absl::OkStatus();
}

// A step that writes a window needs the base array in the same buffer, or copies it there first.
absl::Status StepValidator::CheckBase(const Step& step, absl::Span<const Argument> arguments) const {
  const auto* tiles = std::get_if<TileStep>(&step.what);
  if (tiles == nullptr) return absl::OkStatus();
  const bool copies = tiles->updated >= 0;
  for (const Argument& each : arguments) {
    if (!each.is_write || (copies && each.slot == tiles->result)) continue;
    const Node& node = *graph_.values[each.value].node;
    const Opcode opcode = node.instruction->opcode();
    if (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter) {
      HLO_RETURN_IF_ERROR(Read(each.slot, node.operands[0]));
    } else if (StoredCount(*tiles, each.slot) < *graph_.values[each.value].shape.ElementCount()) {
      return absl::InternalError(fmt::format("it leaves elements of b{} unwritten", each.slot));
    }
  }
  return absl::OkStatus();
}
bool StepValidator::SkipsCopy(const TileStep& tiles) const {
  return tiles.updated >= 0 && tiles.result >= 0 &&
         memory_.Canonical(tiles.updated) == memory_.Canonical(tiles.result);
}
// The programs of a step run in order: each must find the values that the previous ones leave.
absl::Status StepValidator::Tiles(const TileStep& tiles, absl::Span<const Argument> arguments) {
  size_t next = 0;
  for (size_t p = 0; p < tiles.programs.size(); ++p) {
    const bool skipped = p == 0 && SkipsCopy(tiles);
    absl::Status status;
    std::vector<Slot> written;
    const auto argument = [&](bool is_write) {
      const Argument& each = arguments[next++];
      if (is_write)
        written.push_back(each.slot);
      else if (status.ok())
        status = Read(each.slot, each.value);
    };
    tiles.programs[p].VisitAccesses([&](const Access& access, bool is_store) {
      VisitOthers(access, [&](int32_t) { argument(false); });
      if (access.IsArray()) argument(is_store);
    });
    HLO_RETURN_IF_ERROR(status);
    if (skipped) continue;
    if (const auto problem = plan::CheckInPlace(tiles.programs[p], OfSlots()))
      return absl::InternalError(*problem);
    for (const Slot slot : written) memory_.Overwrite(slot);
  }
  return absl::OkStatus();
}

// Other steps than loops may overwrite an operand only if their kernel allows it.
absl::Status StepValidator::CheckRows(const RowsStep& rows) const {
  const auto overlap = [&](int32_t a, int32_t b) {
    const Slot left = SlotOf(rows, a), right = SlotOf(rows, b);
    return left < 0 || right < 0 ? a == b : memory_.Overlap(left, right);
  };
  const auto same = [&](int32_t a, int32_t b) {
    const Slot left = SlotOf(rows, a), right = SlotOf(rows, b);
    return left < 0 || right < 0 ? a == b : memory_.Canonical(left) == memory_.Canonical(right);
  };
  const auto problem = CheckInPlace(rows.program, {byte_count_, overlap, same});
  return problem.has_value() ? absl::InternalError(*problem) : absl::OkStatus();
}

absl::Status StepValidator::CheckSharing(const Step& step, absl::Span<const Argument> arguments) const {
  const auto* kernel = std::get_if<KernelStep>(&step.what);
  if (const auto* rows = std::get_if<RowsStep>(&step.what)) return CheckRows(*rows);
  for (const Argument& write : arguments) {
    for (size_t i = 0; write.is_write && i < arguments.size(); ++i) {
      const Argument& read = arguments[i];
      if (read.is_write || !memory_.Overlap(read.slot, write.slot)) continue;
      if (kernel != nullptr && IsUpdated(*kernel, read.slot, write.slot)) continue;
      return absl::InternalError(
          fmt::format("it overwrites b{}, which it reads, in b{}", read.slot, write.slot));
    }
  }
  return absl::OkStatus();
}
// True if the kernel allows the result to alias the operand, and reads the operand once.
bool StepValidator::IsUpdated(const KernelStep& step, Slot operand, Slot result) const {
  if (memory_.Canonical(operand) != memory_.Canonical(result)) return false;
  int64_t reads = 0;
  bool is_updated = false;
  for (size_t k = 0; k < step.operands.size(); ++k) {
    if (step.operands[k] < 0 || memory_.Canonical(step.operands[k]) != memory_.Canonical(operand)) continue;
    ++reads;
    is_updated = static_cast<int32_t>(k) < step.kernel.in_place_results && k < step.results.size() &&
                 step.results[k] >= 0 && memory_.Canonical(step.results[k]) == memory_.Canonical(result);
  }
  return reads == 1 && is_updated;
}

absl::Status StepValidator::CheckPrograms(const Step& step) const {
  std::optional<std::string> problem;
  const auto check = [&](const loops::LoopProgram& program, absl::FunctionRef<Slot(int32_t)> slot_of) {
    const auto bytes = [&](int32_t argument) {
      const Slot slot = slot_of(argument);
      return slot < 0 ? std::nullopt : std::optional(BufferOf(slot).byte_count);
    };
    program.VisitAccesses([&](const Access& access, bool) {
      const Slot slot = access.IsArray() ? slot_of(access.argument) : -1;
      if (slot >= 0 && BufferOf(slot).kind == Buffer::Kind::kLiteral)
        problem = "a loop cannot read or write a value whose sizes are dynamic";
    });
    if (!problem.has_value()) problem = CheckBounds(program, {bytes, overlap_, same_});
  };
  const auto itself = [](int32_t slot) { return slot; };
  if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
    for (const loops::LoopProgram& program : tiles->programs) check(program, itself);
  } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
    check(reduce->program.body, itself);
    for (const auto& result : reduce->program.results) {
      const int64_t bytes = reduce->program.kept_count() * ByteCount(result.output_type);
      if (BufferOf(result.output).byte_count != bytes && !problem.has_value())
        problem = fmt::format("it writes {} bytes to b{}, which has {}", bytes, result.output,
                              BufferOf(result.output).byte_count);
    }
  } else if (const auto* rows = std::get_if<RowsStep>(&step.what)) {
    for (const auto& part : rows->program.parts) {
      const auto* loop = std::get_if<loops::LoopProgram>(&part);
      check(loop != nullptr ? *loop : std::get<loops::ReduceProgram>(part).body,
            [&](int32_t argument) { return SlotOf(*rows, argument); });
    }
  } else if (const auto* product = std::get_if<ProductStep>(&step.what)) {
    for (const auto& loop : product->loops) {
      if (loop.has_value())
        check(loop->program, [&](int32_t argument) { return SlotOf(*product, argument); });
    }
  }
  return problem.has_value() ? absl::InternalError(*problem) : absl::OkStatus();
}

}  // namespace hlo::plan
