// Per-opcode checks and rewrites that the reader applies to an instruction beyond its grammar (text-format
// 5.1, 7, 8, 10).

#include <array>

#include "absl/algorithm/container.h"
#include "base/counted.h"
#include "text/parser.h"

namespace hlo::text {

absl::Span<const Parser::FinisherRow> Parser::Finishers() {
  static constexpr FinisherRow kRows[] = {
      {Opcode::kAddDependency, &Parser::FinishAddDependency},
      {Opcode::kAfterAll, &Parser::FinishAfterAll},
      {Opcode::kAllReduce, &Parser::FinishAllReduce},
      {Opcode::kAllReduceStart, &Parser::FinishAllReduce},
      {Opcode::kBroadcast, &Parser::FinishBroadcast},
      {Opcode::kCollectivePermute, &Parser::FinishCollectivePermute},
      {Opcode::kCollectivePermuteStart, &Parser::FinishCollectivePermute},
      {Opcode::kCompare, &Parser::FinishCompare},
      {Opcode::kConditional, &Parser::FinishConditional},
      {Opcode::kCustomCall, &Parser::FinishCustomCall},
      {Opcode::kDynamicReshape, &Parser::FinishDynamicReshape},
      {Opcode::kDynamicSlice, &Parser::FinishSliceIndices},
      {Opcode::kDynamicUpdateSlice, &Parser::FinishSliceIndices},
      {Opcode::kGetTupleElement, &Parser::FinishGetTupleElement},
      {Opcode::kInfeed, &Parser::FinishInfeed},
      {Opcode::kMap, &Parser::FinishMap},
      {Opcode::kOutfeed, &Parser::FinishOutfeed},
      {Opcode::kPartitionId, &Parser::FinishDeviceId},
      {Opcode::kRaggedAllToAll, &Parser::FinishRaggedAllToAll},
      {Opcode::kRecv, &Parser::FinishRecv},
      {Opcode::kRecvDone, &Parser::FinishRecvDone},
      {Opcode::kReducePrecision, &Parser::FinishReducePrecision},
      {Opcode::kReduceScatter, &Parser::FinishAllReduce},
      {Opcode::kReplicaId, &Parser::FinishDeviceId},
      {Opcode::kReshape, &Parser::FinishReshape},
      {Opcode::kScan, &Parser::FinishScan},
      {Opcode::kSend, &Parser::FinishSend},
      {Opcode::kSendDone, &Parser::FinishSendDone},
      {Opcode::kTuple, &Parser::FinishTuple},
  };
  return kRows;
}

Parser::Finisher Parser::FinisherOf(Opcode opcode) {
  static const auto* const kTable = [] {
    auto* table = new std::array<Finisher, kOpcodeCount>{};
    for (const FinisherRow& row : Finishers()) (*table)[static_cast<size_t>(row.opcode)] = row.finish;
    return table;
  }();
  return (*kTable)[static_cast<size_t>(opcode)];
}

bool Parser::FinishParts(Scope& scope, InstructionParts& parts) {
  if (parts.poisoned) return true;
  if (Info(parts.op.opcode).has(kAsync)) return FinishAsync(scope, parts);
  if (parts.op.is_old && !FinishOldOpcode(parts)) return false;
  if (!CheckOperandCount(parts) || !CheckRequiredAttributes(parts)) return false;
  const Finisher finish = FinisherOf(parts.op.opcode);
  if (finish != nullptr && !(this->*finish)(parts)) return false;
  return CheckReplication(parts) && FinishShape(parts);
}

bool Parser::FinishShape(InstructionParts& parts) {
  if (parts.shape.IsValid()) return true;
  const OpcodeInfo& info = Info(parts.op.opcode);
  if (!info.has(kInfer))
    return Error(parts.op.range, "'{}' needs its result shape before the opcode", info.name);
  if (options_.infer_shape != nullptr) return true;
  return Error(parts.op.range, "the result shape of this '{}' is missing", info.name);
}

bool Parser::CheckOperandCount(InstructionParts& parts) {
  const OpcodeInfo& info = Info(parts.op.opcode);
  const auto count = static_cast<int64_t>(Operands(parts).size());
  auto fail = [&](std::string wanted) {
    return Error(parts.op.range, "'{}' has {} operand{}, but takes {}", info.name, count,
                 count == 1 ? "" : "s", wanted);
  };
  if (info.min_operands == info.max_operands && count != info.min_operands)
    return fail(fmt::format("{}", info.min_operands));
  if (count < info.min_operands) return fail(fmt::format("at least {}", info.min_operands));
  if (count > info.max_operands) return fail(fmt::format("at most {}", info.max_operands));
  if (info.has(kEvenOperands) && count % 2 != 0) return fail("an even number");
  if (info.has(kOddOperands) && count % 2 == 0) return fail("an odd number");
  return true;
}

bool Parser::CheckRequiredAttributes(InstructionParts& parts) {
  const OpcodeInfo& info = Info(parts.op.opcode);
  for (const AttrUse& use : info.attributes) {
    if (use.required && !HasEntry(parts, use.id)) {
      return Error(parts.op.range, "'{}' needs the attribute '{}'", info.name, Info(use.id).spelling);
    }
  }
  if (!info.has(kOneDimension)) return true;
  const AttrEntry* entry = FindEntry(parts, AttrId::dimensions);
  if (entry == nullptr || entry->value.As<IntList>().size() == 1) return true;
  return Error(entry->range, "'{}' takes exactly one dimension", info.name);
}

bool Parser::CheckReplication(InstructionParts& parts) {
  const AttrEntry* entry = FindEntry(parts, AttrId::parameter_replication);
  if (entry == nullptr) return true;
  if (parts.op.opcode != Opcode::kParameter)
    return Error(entry->range, "only a parameter has parameter_replication");
  const auto count = static_cast<int64_t>(entry->value.As<BoolList>().size());
  const int64_t leaves = parts.shape.LeafCount();
  if (count == leaves) return true;
  return Error(entry->range, "{} for the {} leaves of {}", Counted(count, "value"), leaves,
               ToString(parts.shape));
}

// Replaces older opcodes that became an attribute of another opcode.
bool Parser::FinishOldOpcode(InstructionParts& parts) {
  struct Row {
    std::string_view word;
    ComparisonDirection direction;
  };
  using D = ComparisonDirection;
  constexpr Row kRows[] = {
      {"equal-to", D::kEq},     {"not-equal-to", D::kNe},          {"greater-than-or-equal-to", D::kGe},
      {"greater-than", D::kGt}, {"less-than-or-equal-to", D::kLe}, {"less-than", D::kLt}};
  const std::string_view word(lex_.base() + parts.op.range.begin, parts.op.range.end - parts.op.range.begin);
  for (const Row& row : kRows) {
    if (row.word == word && !HasEntry(parts, AttrId::direction)) {
      attributes_.push_back({AttrId::direction, parts.op.range, AttrValue::Of(row.direction)});
    }
  }
  return true;
}

// Replacement of result shapes (text-format 5.1).

bool Parser::FinishAfterAll(InstructionParts& parts) {
  parts.shape = Shape::Token();
  return true;
}

bool Parser::FinishAddDependency(InstructionParts& parts) {
  parts.shape = Operands(parts)[0]->shape();
  return true;
}

bool Parser::FinishOutfeed(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  parts.shape = Shape::Token();
  return true;
}

bool Parser::FinishSend(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  parts.shape = Shape::Tuple({Operands(parts)[0]->shape(), Shape::Scalar(ElementType::kU32), Shape::Token()});
  return true;
}

bool Parser::FinishSendDone(InstructionParts& parts) {
  if (!CheckChannel(parts)) return false;
  if (parts.shape.IsValid()) parts.shape = Shape::Token();
  return true;
}

bool Parser::FinishRecv(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  if (!parts.shape.IsTuple() || parts.shape.elements().empty()) {
    return Error(parts.shape_range, "'recv' gives a tuple (data, u32[], token[]), not {}",
                 ToString(parts.shape));
  }
  parts.shape = Shape::Tuple({parts.shape.element(0), Shape::Scalar(ElementType::kU32), Shape::Token()});
  return true;
}

bool Parser::FinishRecvDone(InstructionParts& parts) {
  if (!CheckChannel(parts)) return false;
  const Shape& operand = Operands(parts)[0]->shape();
  if (!operand.IsTuple() || operand.elements().empty()) {
    return Error(parts.op.range, "the operand of 'recv-done' is {}, not the tuple that 'recv' gives",
                 ToString(operand));
  }
  if (parts.shape.IsValid()) parts.shape = Shape::Tuple({operand.element(0), Shape::Token()});
  return true;
}

bool Parser::FinishInfeed(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  if (!parts.shape.IsTuple() || parts.shape.elements().empty()) {
    return Error(parts.shape_range, "'infeed' gives a tuple (data, token[]), not {}", ToString(parts.shape));
  }
  parts.shape = Shape::Tuple({parts.shape.element(0), Shape::Token()});
  return true;
}

// Checks of the reader.

// Checks that `send-done` and `recv-done` have the channel of the instruction that they complete.
bool Parser::CheckChannel(InstructionParts& parts) {
  const Instruction* start = Operands(parts)[0];
  const bool is_channel = Info(start->opcode()).has(kSideEffect) &&
                          FindAttribute(start->opcode(), "is_host_transfer") != AttrId::kNone;
  if (!is_channel) return true;
  const AttrEntry* mine = FindEntry(parts, AttrId::channel_id);
  const AttrEntry* theirs = start->Find(AttrId::channel_id);
  if ((mine == nullptr) != (theirs == nullptr) ||
      (mine != nullptr && mine->value.As<int64_t>() != theirs->value.As<int64_t>())) {
    diagnostics_
        .Error(mine != nullptr ? mine->range : parts.op.range, "channel_id differs from that of '{}'",
               start->name())
        .Note(theirs != nullptr ? theirs->range : start->name_range(), "'{}' is here", start->name());
    return false;
  }
  return true;
}

bool Parser::FinishTuple(InstructionParts& parts) {
  if (!parts.shape.IsValid()) {
    std::vector<Shape> elements;
    for (const Instruction* operand : Operands(parts)) elements.push_back(operand->shape());
    parts.shape = Shape::Tuple(std::move(elements));
    return true;
  }
  if (!parts.shape.IsTuple())
    return Error(parts.shape_range, "'tuple' gives a tuple, not {}", ToString(parts.shape));
  if (parts.shape.elements().size() == Operands(parts).size()) return true;
  return Error(parts.shape_range, "a tuple of {} with {}", Counted(parts.shape.elements().size(), "element"),
               Counted(Operands(parts).size(), "operand"));
}

bool Parser::FinishGetTupleElement(InstructionParts& parts) {
  if (parts.shape.IsValid()) return true;
  const Shape& tuple = Operands(parts)[0]->shape();
  const AttrEntry* index = FindEntry(parts, AttrId::index);
  if (!tuple.IsTuple())
    return Error(parts.op.range, "the operand of 'get-tuple-element' is {}, not a tuple", ToString(tuple));
  const auto i = index->value.As<int64_t>();
  if (i < 0 || i >= static_cast<int64_t>(tuple.elements().size())) {
    return Error(index->range, "element {} of a tuple of {}", i, Counted(tuple.elements().size(), "element"));
  }
  parts.shape = tuple.element(i);
  return true;
}

bool Parser::FinishReshape(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  const Shape& from = Operands(parts)[0]->shape();
  if (!from.IsArray() || !parts.shape.IsArray()) {
    return Error(parts.shape_range, "'reshape' takes an array to an array, not {} to {}", ToString(from),
                 ToString(parts.shape));
  }
  if (from.HasUnboundedDim()) return true;
  if (!parts.shape.HasUnboundedDim() && from.ElementCount() == parts.shape.ElementCount()) return true;
  return Error(parts.shape_range, "'reshape' takes {} to {}, which has another number of elements",
               ToString(from), ToString(parts.shape));
}

bool Parser::FinishDynamicReshape(InstructionParts& parts) {
  if (!parts.shape.IsValid()) return true;
  const auto sizes = static_cast<int64_t>(Operands(parts).size()) - 1;
  if (!parts.shape.IsArray() || sizes != parts.shape.rank()) {
    return Error(parts.op.range, "'dynamic-reshape' to {} with {}", ToString(parts.shape),
                 Counted(sizes, "size"));
  }
  return FinishReshape(parts);
}

// Requires one scalar index per dimension, or a vector of all indices.
bool Parser::FinishSliceIndices(InstructionParts& parts) {
  const auto operands = Operands(parts);
  const auto indices = operands.subspan(parts.op.opcode == Opcode::kDynamicSlice ? 1 : 2);
  const Shape& from = operands[0]->shape();
  if (indices.size() == 1 && indices[0]->shape().IsArray() && indices[0]->shape().rank() == 1) return true;
  if (!from.IsArray() || static_cast<int64_t>(indices.size()) == from.rank()) return true;
  return Error(parts.op.range, "'{}' of {} with {}: it takes one a dimension", Name(parts.op.opcode),
               ToString(from), Counted(indices.size(), "start index", "start indices"));
}

bool Parser::FinishDeviceId(InstructionParts& parts) {
  if (!parts.shape.IsValid()) {
    parts.shape = Shape::Scalar(ElementType::kU32);
    return true;
  }
  if (parts.shape.IsScalar(ElementType::kU32)) return true;
  return Error(parts.shape_range, "'{}' gives u32[], not {}", Name(parts.op.opcode), ToString(parts.shape));
}

bool Parser::FinishConditional(InstructionParts& parts) {
  const Shape& selector = Operands(parts)[0]->shape();
  const bool two_way = selector.IsScalar(ElementType::kPred);
  if (!two_way && !selector.IsScalar(ElementType::kS32)) {
    return Error(parts.op.range, "the first operand of 'conditional' is {}, not pred[] or s32[]",
                 ToString(selector));
  }
  const AttrEntry* list = FindEntry(parts, AttrId::branch_computations);
  const AttrEntry* if_true = FindEntry(parts, AttrId::true_computation);
  const AttrEntry* if_false = FindEntry(parts, AttrId::false_computation);
  if (two_way && (if_true == nullptr || if_false == nullptr || list != nullptr)) {
    return Error(parts.op.range, "a 'conditional' on pred[] needs true_computation and false_computation");
  }
  if (!two_way && (list == nullptr || if_true != nullptr || if_false != nullptr)) {
    return Error(parts.op.range, "a 'conditional' on s32[] needs branch_computations");
  }
  const size_t branches = two_way ? 2 : list->value.As<attr_kind::ComputationList>().size();
  if (branches == 0) return Error(list->range, "a 'conditional' needs at least one branch");
  if (Operands(parts).size() == branches + 1) return true;
  return Error(parts.op.range, "{} for {}: each branch takes one, after the selector",
               Counted(Operands(parts).size() - 1, "operand"), Counted(branches, "branch", "branches"));
}

bool Parser::FinishCustomCall(InstructionParts& parts) {
  const AttrEntry* version = FindEntry(parts, AttrId::api_version);
  if (version != nullptr && version->value.As<ApiVersion>() == ApiVersion::kUnspecified) {
    return Error(version->range, "API_VERSION_UNSPECIFIED cannot be requested");
  }
  // `to_apply=f` is equivalent to a list of one computation.
  if (const AttrEntry* single = FindEntry(parts, AttrId::to_apply)) {
    const std::vector<Computation*> list = {single->value.As<Computation*>()};
    AttrEntry entry{AttrId::called_computations, single->range, AttrValue::Of(Keep(list))};
    RemoveEntry(parts, AttrId::to_apply);
    RemoveEntry(parts, AttrId::called_computations);
    attributes_.push_back(entry);
  }
  return CheckLayoutConstraints(parts);
}

bool Parser::CheckLayoutConstraints(InstructionParts& parts) {
  const AttrEntry* entry = FindEntry(parts, AttrId::operand_layout_constraints);
  if (entry == nullptr) return true;
  const auto shapes = entry->value.As<attr_kind::ShapeList>();
  const auto operands = Operands(parts);
  if (shapes.size() != operands.size()) {
    return Error(entry->range, "{} for {}", Counted(shapes.size(), "layout constraint"),
                 Counted(operands.size(), "operand"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (Compatible(*shapes[i], operands[i]->shape())) continue;
    return Error(entry->range, "constraint {} is {}, but the operand is {}", i, ToString(*shapes[i]),
                 ToString(operands[i]->shape()));
  }
  return true;
}

// Converts `type=`, the spelling until August 2026, to `order=`.
bool Parser::FinishCompare(InstructionParts& parts) {
  AttrEntry* type = FindEntry(parts, AttrId::type);
  if (type == nullptr) return true;
  if (HasEntry(parts, AttrId::order)) return Error(type->range, "'type' and 'order' exclude each other");
  const bool partial = type->value.As<ComparisonType>() == ComparisonType::kFloat;
  *type = {AttrId::order, type->range,
           AttrValue::Of(partial ? ComparisonOrder::kPartial : ComparisonOrder::kTotal)};
  return true;
}

bool Parser::FinishBroadcast(InstructionParts& parts) {
  if (HasEntry(parts, AttrId::dimensions)) return true;
  const Shape& operand = Operands(parts)[0]->shape();
  if (!operand.IsScalar())
    return Error(parts.op.range, "a 'broadcast' of {} needs the attribute 'dimensions'", ToString(operand));
  attributes_.push_back({AttrId::dimensions, {}, AttrValue::Of(IntList())});
  return true;
}

// The widths are numbers of 32 bits.
bool Parser::FinishReducePrecision(InstructionParts& parts) {
  for (const AttrId id : {AttrId::exponent_bits, AttrId::mantissa_bits}) {
    AttrEntry* const entry = FindEntry(parts, id);
    const auto bits = entry->value.As<int64_t>();
    const auto kept = static_cast<int32_t>(bits);
    if (kept == bits) continue;
    Warn(entry->range, "{} is read as {}, a number of 32 bits, as XLA does", bits, kept);
    entry->value = AttrValue::Of<int64_t>(kept);
  }
  return true;
}

// A map covers all dimensions, even if the text lists others.
bool Parser::FinishMap(InstructionParts& parts) {
  if (!parts.shape.IsValid() && !HasEntry(parts, AttrId::dimensions)) {
    return Error(parts.op.range, "a 'map' without a result shape needs the attribute 'dimensions'");
  }
  // Shape inference uses the numbers in the text (shape-rules 3.19).
  const Shape& shape = parts.shape;
  if (!shape.IsArray()) return true;
  std::vector<int64_t> all(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  AttrEntry* entry = FindEntry(parts, AttrId::dimensions);
  if (entry == nullptr) entry = &attributes_.emplace_back(AttrEntry{AttrId::dimensions, {}, {}});
  entry->value = AttrValue::Of(Keep(all));
  return true;
}

bool Parser::FinishAllReduce(InstructionParts& parts) {
  // XLA wrote `mode` for two days in 2025. It has no effect, except that it replaces the channel.
  if (HasEntry(parts, AttrId::mode) || !GetEntry<attr::use_global_device_ids>(parts) ||
      HasEntry(parts, AttrId::channel_id))
    return true;
  return Error(FindEntry(parts, AttrId::use_global_device_ids)->range,
               "use_global_device_ids=true needs a channel_id");
}

bool Parser::FinishCollectivePermute(InstructionParts& parts) {
  const AttrEntry* pairs = FindEntry(parts, AttrId::source_target_pairs);
  for (IntList pair : pairs->value.As<IntLists>()) {
    if (pair.size() != 2) return Error(pairs->range, "each of source_target_pairs has a source and a target");
  }
  if (!HasEntry(parts, AttrId::permute_slice_sizes) || Operands(parts).size() == 4) return true;
  return Error(parts.op.range, "'{}' with slice_sizes takes 4 operands, not {}", Name(parts.op.opcode),
               Operands(parts).size());
}

bool Parser::FinishRaggedAllToAll(InstructionParts& parts) {
  RemoveEntry(parts, AttrId::dimensions);
  return true;
}

bool Parser::FinishScan(InstructionParts& parts) {
  const auto wanted = GetEntry<attr::to_apply>(parts)->parameters().size();
  if (Operands(parts).size() == wanted) return true;
  return Error(parts.op.range, "'scan' has {}, but its computation {}",
               Counted(Operands(parts).size(), "operand"), Counted(wanted, "parameter"));
}

}  // namespace hlo::text
