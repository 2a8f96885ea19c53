// Prints the opcode-specific attributes in the order of print_attributes.def.

#include <array>

#include "ir/printer.h"

namespace hlo {
namespace {

struct OwnAttribute {
  enum When : uint8_t { kGiven, kNotEmpty, kAlways, kUnless, kDerived };
  AttrId id;
  When when;
  int64_t value = 0;  // Used by kAlways and kUnless.
};

#define If(a) \
  OwnAttribute { AttrId::a, OwnAttribute::kGiven }
#define Some(a) \
  OwnAttribute { AttrId::a, OwnAttribute::kNotEmpty }
#define Always(a, v) \
  OwnAttribute { AttrId::a, OwnAttribute::kAlways, v }
#define Unless(a, v) \
  OwnAttribute { AttrId::a, OwnAttribute::kUnless, v }
#define Derived(a) \
  OwnAttribute { AttrId::a, OwnAttribute::kDerived }
#define HLO_PRINT(opcode, ...) constexpr OwnAttribute kOwn##opcode[] = {__VA_ARGS__};
#include "ir/print_attributes.def"
#undef HLO_PRINT

using OwnTable = std::array<absl::Span<const OwnAttribute>, kOpcodeCount>;
constexpr OwnTable kOwn = [] {
  OwnTable table;
#define HLO_PRINT(opcode, ...) table[static_cast<size_t>(Opcode::k##opcode)] = kOwn##opcode;
#include "ir/print_attributes.def"
#undef HLO_PRINT
  return table;
}();
#undef If
#undef Some
#undef Always
#undef Unless
#undef Derived

ComparisonOrder OrderOf(const Instruction& compare) {
  if (compare.Has<attr::order>()) return compare.Get<attr::order>();
  return compare.Get<attr::type>() == ComparisonType::kFloat ? ComparisonOrder::kPartial
                                                             : ComparisonOrder::kTotal;
}

ComparisonOrder DefaultOrder(ElementType type) {
  return IsFloat(type) || IsComplex(type) ? ComparisonOrder::kPartial : ComparisonOrder::kTotal;
}

}  // namespace

void Printer::PutOwnAttributes(const Instruction& instruction) {
  for (const OwnAttribute& own : kOwn[static_cast<size_t>(instruction.opcode())]) {
    if (!style_.feed_configs && (own.id == AttrId::infeed_config || own.id == AttrId::outfeed_config))
      continue;
    const AttrEntry* entry = instruction.Find(own.id);
    switch (own.when) {
      case OwnAttribute::kGiven:
        if (entry != nullptr) PutAttribute(own.id, entry->value);
        break;
      case OwnAttribute::kNotEmpty:
        if (entry != nullptr && !IsEmpty(own.id, entry->value)) PutAttribute(own.id, entry->value);
        break;
      case OwnAttribute::kAlways:
        PutAttribute(own.id, entry != nullptr ? entry->value : DefaultValue(own.id, own.value));
        break;
      case OwnAttribute::kUnless:
        if (entry != nullptr && entry->value.As<int64_t>() != own.value) PutAttribute(own.id, entry->value);
        break;
      case OwnAttribute::kDerived:
        PutDerived(instruction, own.id);
        break;
    }
  }
}

// Only numbers, lists and replica groups have a default that is printed.
AttrValue Printer::DefaultValue(AttrId id, int64_t number) {
  static const ReplicaGroups kAllTogether;
  switch (Info(id).kind) {
    case AttrKind::kReplicaGroups:
      return AttrValue::Of(&kAllTogether);
    case AttrKind::kIntList:
      return AttrValue::Of(IntList());
    default:
      return AttrValue::Of(number);
  }
}

void Printer::PutDerived(const Instruction& instruction, AttrId id) {
  switch (id) {
    case AttrId::order: {  // Older text has `type` instead (until August 2026).
      if (instruction.operand_count() == 0) return;
      const ComparisonOrder usual = DefaultOrder(instruction.operand(0)->shape().type());
      const bool given = instruction.Has<attr::order>() || instruction.Has<attr::type>();
      if (given && OrderOf(instruction) != usual) PutAttribute(id, AttrValue::Of(OrderOf(instruction)));
      return;
    }
    case AttrId::dimensions: {  // A map covers all dimensions, even if the text lists others.
      std::vector<int64_t> all(instruction.shape().rank());
      for (size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int64_t>(d);
      PutAttribute(id, AttrValue::Of(IntList(all)));
      return;
    }
    case AttrId::outfeed_shape: {
      const Shape* shape = instruction.Get<attr::outfeed_shape>();
      if (shape == nullptr && instruction.operand_count() > 0) shape = &instruction.operand(0)->shape();
      if (shape != nullptr) PutAttribute(id, AttrValue::Of(shape));
      return;
    }
    case AttrId::called_computations: {
      // XLA's reader drops called_computations if there are layout constraints.
      if (style_.as_xla && instruction.Has<attr::operand_layout_constraints>()) return;
      Computation* const one = instruction.Get<attr::to_apply>();
      const attr_kind::ComputationList all =
          one != nullptr ? attr_kind::ComputationList(&one, 1) : instruction.Get<attr::called_computations>();
      if (!all.empty()) PutAttribute(id, AttrValue::Of(all));
      return;
    }
    case AttrId::mode:  // XLA drops it, and then rejects use_global_device_ids without channel_id.
      if (!style_.as_xla) PutStored(instruction, id);
      return;
    // In canonical form XLA prints these bodies under a keyword that its reader rejects.
    case AttrId::to_apply: {
      const AttrEntry* entry = instruction.Find(id);
      const bool as_calls = style_.as_xla && style_.bodies;
      if (entry != nullptr) PutAttribute(as_calls ? AttrId::calls : id, entry->value);
      return;
    }
    default:  // `calls` of async-update and async-done: the chain implies it if there is a start.
      if (!style_.as_xla && chains_.FindStart(instruction) == nullptr) PutStored(instruction, id);
  }
}

}  // namespace hlo
