// Custom calls at the boundaries of manual regions, between whole arrays and the values of devices
// (spmd 5.5).

#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/custom/functions.h"
#include "reference/custom/signature.h"
#include "spmd/collectives.h"
#include "spmd/shards.h"

namespace hlo::reference::custom {
namespace {

using spmd::ShapeConversion;
using spmd::Values;

absl::StatusOr<Literal> Unshared(Literal value) {
  HLO_RETURN_IF_ERROR(value.MakeUnique());
  return value;
}

Literal OfResults(const Instruction& call, Values values) {
  return call.shape().IsTuple() ? Literal::Tuple(std::move(values)) : std::move(values[0]);
}

// Assembles the results of all partitions of a replica from their tiles.
absl::StatusOr<std::vector<Values>> Assemble(absl::Span<const ShapeConversion> conversions,
                                             absl::Span<const Values> members) {
  std::vector<Values> results(members.size());
  for (size_t k = 0; k < conversions.size(); ++k) {
    std::vector<Literal> tiles;
    for (const Values& member : members) tiles.push_back(member[k]);
    const spmd::TileMap& map = conversions[k].to;
    for (int64_t p = 0; p < map.partitions(); ++p) {
      HLO_ASSIGN_OR_RETURN(Literal whole, spmd::AssembleTiles(tiles, map, conversions[k].result, map.at(p)));
      HLO_ASSIGN_OR_RETURN(whole, Unshared(std::move(whole)));
      results[p].push_back(std::move(whole));
    }
  }
  return results;
}

}  // namespace

std::string ConvertShapesMismatch(const Instruction& call) {
  const ModuleHeader& header = call.parent()->module()->header();
  if (header.replica_count != 1 || header.num_partitions != 1) return "";
  std::string misfit = OtherShapes(call);
  return misfit.empty() || call.operand_count() == 0
             ? misfit
             : fmt::format("'{}' of {} {}; it needs several devices (see --partitions)",
                           call.Get<attr::custom_call_target>(), ToString(call.operand(0)->shape()), misfit);
}

// A device keeps its tile of the operand, and the result consists of the tiles of some devices.
absl::StatusOr<Literal> ConvertShapes(OpContext& context) {
  spmd::Collectives* collectives = context.caller.collectives();
  if (collectives == nullptr)
    return OfResults(context.instruction, {context.operands.begin(), context.operands.end()});
  const absl::Span<const ShapeConversion> conversions = collectives->table().conversions(context.instruction);
  const int64_t partition = collectives->grid().partition(collectives->device());
  Values tiles;
  bool is_local = true;
  for (size_t k = 0; k < conversions.size(); ++k) {
    HLO_ASSIGN_OR_RETURN(Literal tile, spmd::TileOf(context.operands[k], conversions[k].from, partition));
    is_local &= conversions[k].IsLocal();
    tiles.push_back(tile.WithShape(Shape::Array(tile.type(), tile.dims())));
  }
  if (is_local) {
    for (size_t k = 0; k < tiles.size(); ++k) tiles[k] = tiles[k].WithShape(conversions[k].result);
    return OfResults(context.instruction, std::move(tiles));
  }
  HLO_ASSIGN_OR_RETURN(Values results, collectives->Meet(context.instruction, std::move(tiles),
                                                         [&](absl::Span<const Values> members) {
                                                           return Assemble(conversions, members);
                                                         }));
  return OfResults(context.instruction, std::move(results));
}

}  // namespace hlo::reference::custom
