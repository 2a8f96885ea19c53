#include "hlo_run/opcode.h"

#include <array>

#include "absl/container/flat_hash_map.h"

namespace hlo {
namespace {

#define Req(id) \
  AttrUse { AttrId::id, true }
#define Opt(id) \
  AttrUse { AttrId::id, false }
// The sentinel keeps rows without attributes from being arrays of no elements.
#define HLO_ATTRS(...) \
  { AttrUse{AttrId::kNone, false} __VA_OPT__(, ) __VA_ARGS__ }
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) \
  constexpr AttrUse kAttrs##name[] = attrs;
#include "hlo_run/opcodes.def"
#undef HLO_OP

constexpr std::array<OpcodeInfo, kOpcodeCount> kOpcodes = {{
#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits)                           \
  {text,       min,   max, absl::Span<const AttrUse>(kAttrs##name + 1, std::size(kAttrs##name) - 1), \
   #reference, traits},
#include "hlo_run/opcodes.def"
#undef HLO_OP
}};

constexpr AttrId kCommon[] = {
    AttrId::metadata, AttrId::sharding,   AttrId::backend_config,       AttrId::frontend_attributes,
    AttrId::origin,   AttrId::statistics, AttrId::control_predecessors, AttrId::parameter_replication};

}  // namespace

const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

std::optional<Opcode> ParseOpcode(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new absl::flat_hash_map<std::string_view, Opcode>;
    for (int i = 0; i < kOpcodeCount; ++i) map->emplace(kOpcodes[i].name, static_cast<Opcode>(i));
    return map;
  }();
  const auto it = table->find(name);
  if (it == table->end()) return std::nullopt;
  return it->second;
}

absl::Span<const AttrId> CommonAttributes() { return kCommon; }

AttrId FindAttribute(Opcode opcode, std::string_view spelling) {
  for (const AttrUse& use : Info(opcode).attributes) {
    if (Info(use.id).spelling == spelling) return use.id;
  }
  for (AttrId id : kCommon) {
    if (Info(id).spelling == spelling) return id;
  }
  return AttrId::kNone;
}

}  // namespace hlo
