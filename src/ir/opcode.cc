#include "hlo_run/opcode.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <vector>

#include "base/name_table.h"
#include "hlo_run/diagnostic.h"
#include "ir/opcode_names.h"

namespace hlo {
namespace {

#define Req(id) \
  AttrUse { AttrId::id, true }
#define Opt(id) \
  AttrUse { AttrId::id, false }
// The sentinel avoids zero-length arrays for opcodes without attributes. The parentheses keep the list one
// argument of nested macros.
#define HLO_ATTRS(...) (AttrUse{AttrId::kNone, false} __VA_OPT__(, ) __VA_ARGS__)
#define HLO_LIST(...) \
  { __VA_ARGS__ }
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) \
  constexpr AttrUse kAttrs##name[] = HLO_LIST attrs;
#include "hlo_run/opcodes.def"

constexpr std::array<OpcodeInfo, kOpcodeCount> kOpcodes = {{
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits)                           \
  {text,       min,   max, absl::Span<const AttrUse>(kAttrs##name + 1, std::size(kAttrs##name) - 1), \
   #reference, traits},
#include "hlo_run/opcodes.def"
}};

constexpr AttrId kCommon[] = {
    AttrId::metadata, AttrId::sharding,   AttrId::backend_config,       AttrId::frontend_attributes,
    AttrId::origin,   AttrId::statistics, AttrId::control_predecessors, AttrId::parameter_replication};

}  // namespace

const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

std::optional<Opcode> ParseOpcode(std::string_view name) {
  static auto* const table = [] {
    auto* map = new NameTable<Opcode>;
    for (int i = 0; i < kOpcodeCount; ++i) map->Insert(kOpcodes[i].name, static_cast<Opcode>(i));
    return map;
  }();
  const Opcode* opcode = table->Find(name);
  if (opcode == nullptr) return std::nullopt;
  return *opcode;
}

std::string_view ClosestOpcode(std::string_view word) {
  std::vector<std::string_view> known;
  for (const OpcodeInfo& info : kOpcodes) known.push_back(info.name);
  return ClosestName(word, known);
}

absl::Span<const AttrId> CommonAttributes() { return kCommon; }

namespace {

// The attributes with one spelling. Each opcode accepts at most one of them.
struct Spelled {
  static constexpr int kMax = 4;
  AttrId ids[kMax] = {AttrId::kNone, AttrId::kNone, AttrId::kNone, AttrId::kNone};
};
using AttrSet = std::bitset<kAttrCount>;

struct AttributeTable {
  NameTable<Spelled> spellings;
  std::array<AttrSet, kOpcodeCount> accepted;
};

AttributeTable* MakeAttributeTable() {
  auto* table = new AttributeTable;
  for (int i = 0; i < kAttrCount; ++i) {
    Spelled& row = *table->spellings.Insert(Info(static_cast<AttrId>(i)).spelling, Spelled()).first;
    *std::find(std::begin(row.ids), std::end(row.ids) - 1, AttrId::kNone) = static_cast<AttrId>(i);
  }
  for (int i = 0; i < kOpcodeCount; ++i) {
    for (const AttrUse& use : kOpcodes[i].attributes) table->accepted[i].set(static_cast<size_t>(use.id));
    for (AttrId id : kCommon) table->accepted[i].set(static_cast<size_t>(id));
  }
  return table;
}

}  // namespace

AttrId FindAttribute(Opcode opcode, std::string_view spelling) {
  static AttributeTable* const table = MakeAttributeTable();
  const Spelled* row = table->spellings.Find(spelling);
  if (row == nullptr) return AttrId::kNone;
  const AttrSet& accepted = table->accepted[static_cast<size_t>(opcode)];
  for (AttrId id : row->ids) {
    if (id != AttrId::kNone && accepted.test(static_cast<size_t>(id))) return id;
  }
  return AttrId::kNone;
}

}  // namespace hlo
