#include "debug/device_values.h"

#include "base/status.h"
#include "conform/device_case.h"
#include "fmt/format.h"
#include "spmd/device_grid.h"

namespace hlo::debug {
namespace {

// `key` is the shape index of the part, as in ArrayLeaves.
absl::StatusOr<Literal> ReadPart(Archive& archive, const DevicePlace& place, const std::string& key,
                                 const Shape& shape, const ReadOptions& options) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const std::string inner = key.empty() ? fmt::format("{}", i) : fmt::format("{}.{}", key, i);
      HLO_ASSIGN_OR_RETURN(elements.emplace_back(),
                           ReadPart(archive, place, inner, shape.elements()[i], options));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return Literal::CreateZeros(shape);
  const std::string name = key.empty() ? "0" : key;
  const std::string stored = conform::KeyFor(archive, "", place, name);
  if (stored.empty())
    return absl::FailedPreconditionError(fmt::format("there is no array '{}{}'", place.prefix(), name));
  return archive.Read(stored, shape, options);
}

}  // namespace

std::vector<DevicePlace> PlacesOf(const Module& module) {
  const spmd::DeviceGrid grid = spmd::GridOf(module);
  std::vector<DevicePlace> places;
  for (int64_t device = 0; device < grid.count(); ++device)
    places.push_back({grid.replicas, grid.partitions, grid.replica(device), grid.partition(device)});
  return places;
}

std::vector<std::string> PrefixesOf(const Module& module) {
  std::vector<std::string> prefixes;
  for (const DevicePlace& place : PlacesOf(module)) prefixes.push_back(place.prefix());
  return prefixes;
}

absl::StatusOr<Literal> ReadOfDevice(Archive& archive, const DevicePlace& place, const Shape& shape,
                                     const ReadOptions& options) {
  return ReadPart(archive, place, "", shape, options);
}

}  // namespace hlo::debug
