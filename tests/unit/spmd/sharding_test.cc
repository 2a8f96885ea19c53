// Tests the tiles of shardings with the worked examples of spmd 7 (22 and 23) and arrays that XLA:CPU cut.

#include "spmd/sharding.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spmd/shards.h"
#include "unit/spmd/load.h"

namespace hlo::spmd {
namespace {

// A module with one parameter, which has the sharding.
std::unique_ptr<Module> ModuleOf(const std::string& shape, const std::string& sharding) {
  return Load(
      fmt::format("HloModule m\nENTRY e {{\n  ROOT p = {} parameter(0), sharding={}\n}}\n", shape, sharding));
}

struct Example {
  std::string sharding, array;
  std::vector<std::string> tiles;  // By partition.
};

absl::StatusOr<TileMap> MapOf(const Module& module, int64_t partitions) {
  const Instruction& p = *module.entry()->root();
  return TileMap::Make(p.Get<attr::sharding>(), p.shape().rank(), partitions);
}

std::vector<Literal> Cut(const Literal& array, const TileMap& map) {
  std::vector<Literal> tiles;
  for (int64_t p = 0; p < map.partitions(); ++p) {
    absl::StatusOr<Literal> tile = TileOf(array, map, p);
    EXPECT_TRUE(tile.ok()) << Message(tile.status());
    tiles.push_back(*std::move(tile));
  }
  return tiles;
}

class Tiles : public testing::TestWithParam<Example> {};

TEST_P(Tiles, AreSplitAndJoined) {
  const Example& example = GetParam();
  const Literal array = Value(example.array);
  const std::unique_ptr<Module> module = ModuleOf(ToString(array.shape()), example.sharding);
  const absl::StatusOr<TileMap> map = MapOf(*module, static_cast<int64_t>(example.tiles.size()));
  ASSERT_TRUE(map.ok()) << Message(map.status());
  const std::vector<Literal> tiles = Cut(array, *map);
  for (size_t p = 0; p < tiles.size(); ++p) EXPECT_EQ(Text(tiles[p]), example.tiles[p]) << p;
  const absl::StatusOr<JoinedArray> joined = JoinTiles(tiles, *map, array.shape());
  ASSERT_TRUE(joined.ok()) << Message(joined.status());
  EXPECT_EQ(Text(joined->value), Text(array));
  EXPECT_TRUE(joined->disagreements.empty());
}

const std::string k5x3 = "s32[5,3] {{0,1,2},{3,4,5},{6,7,8},{9,10,11},{12,13,14}}";
const std::string k4x4 = "s32[4,4] {{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}}";
const std::string k4x2 = "s32[4,2] {{0,1},{2,3},{4,5},{6,7}}";

INSTANTIATE_TEST_SUITE_P(
    Spmd, Tiles,
    testing::Values(
        // Uneven tiles are padded with zeros.
        Example{"{devices=[2,2]<=[4]}",
                k5x3,
                {"{{0,1},{3,4},{6,7}}", "{{2,0},{5,0},{8,0}}", "{{9,10},{12,13},{0,0}}",
                 "{{11,0},{14,0},{0,0}}"}},
        Example{"{devices=[4]<=[4]}", "s32[5] {1,2,3,4,5}", {"{1,2}", "{3,4}", "{5,0}", "{0,0}"}},
        Example{"{devices=[2]<=[2]}", "s32[7] {1,2,3,4,5,6,7}", {"{1,2,3,4}", "{5,6,7,0}"}},
        // Devices are listed, or an iota with several dimensions.
        Example{"{devices=[2,2]3,1,0,2}",
                k4x4,
                {"{{8,9},{12,13}}", "{{2,3},{6,7}}", "{{10,11},{14,15}}", "{{0,1},{4,5}}"}},
        Example{"{devices=[2,2,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}",
                k4x4,
                {"{{0,1},{4,5}}", "{{8,9},{12,13}}", "{{0,1},{4,5}}", "{{8,9},{12,13}}", "{{2,3},{6,7}}",
                 "{{10,11},{14,15}}", "{{2,3},{6,7}}", "{{10,11},{14,15}}"}},
        // Subgroups hold copies.
        Example{"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
                k4x2,
                {"{{0,1},{2,3}}", "{{4,5},{6,7}}", "{{0,1},{2,3}}", "{{4,5},{6,7}}"}},
        Example{"{devices=[2,1,2]<=[4] last_tile_dims={replicated}}",
                k4x2,
                {"{{0,1},{2,3}}", "{{0,1},{2,3}}", "{{4,5},{6,7}}", "{{4,5},{6,7}}"}},
        Example{"{replicated}", "s32[2] {1,2}", {"{1,2}", "{1,2}"}},
        Example{"{maximal device=1}", "s32[2] {1,2}", {"{1,2}", "{1,2}"}},
        Example{"{unknown}", "s32[2] {1,2}", {"{1,2}", "{1,2}"}},
        // Axes of meshes.
        Example{"{mesh['a'=2,'b'=3], [{'b'},{}]}",
                "s32[6,1] {{0},{1},{2},{3},{4},{5}}",
                {"{{0},{1}}", "{{2},{3}}", "{{4},{5}}", "{{0},{1}}", "{{2},{3}}", "{{4},{5}}"}},
        Example{"{mesh['a'=2,'b'=3], [{'b','a'}]}",
                "s32[6] {0,1,2,3,4,5}",
                {"{0}", "{2}", "{4}", "{1}", "{3}", "{5}"}},
        Example{"{mesh['a'=4], [{'a':(2)2}]}", "s32[2] {1,2}", {"{1}", "{2}", "{1}", "{2}"}},
        Example{"{mesh['a'=4], [{'a':(1)2, ?}]}", "s32[2] {1,2}", {"{1}", "{1}", "{2}", "{2}"}},
        Example{"{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a','b'}]}",
                "s32[4] {0,1,2,3}",
                {"{0}", "{2}", "{1}", "{3}"}},
        Example{"{mesh['a'=2,'b'=2], replicated}", "s32[1] {7}", {"{7}", "{7}", "{7}", "{7}"}}));

// The file holds shardings in the spellings of XLA, and the ranges that JAX gives the partitions.
TEST(Sharding, GivesPartitionsTheTilesThatJaxGivesThem) {
  std::ifstream file("tests/vectors/tile_maps.jsonl");
  int64_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto row = nlohmann::json::parse(line);
    const Shape shape = Shape::Array(ElementType::kS32, row["shape"].get<std::vector<int64_t>>());
    const std::unique_ptr<Module> module = ModuleOf(ToString(shape), row["sharding"].get<std::string>());
    const auto& tiles = row["tiles"];
    const absl::StatusOr<TileMap> map = MapOf(*module, static_cast<int64_t>(tiles.size()));
    ASSERT_TRUE(map.ok()) << row["sharding"] << ": " << Message(map.status());
    const Index sizes = map->TileDims(shape.dims());
    for (size_t p = 0; p < tiles.size(); ++p) {
      for (int64_t d = 0; d < shape.rank(); ++d) {
        const int64_t begin = map->at(static_cast<int64_t>(p)).tile[d] * sizes[d];
        EXPECT_EQ(begin, tiles[p][d][0]) << row["sharding"] << ", partition " << p << ", dimension " << d;
        EXPECT_EQ(begin + sizes[d], tiles[p][d][1]) << row["sharding"] << ", partition " << p;
      }
    }
  }
  EXPECT_GT(count, 100);
}

TEST(Sharding, AddsTheTermsOfAnUnreducedArray) {
  const std::unique_ptr<Module> module =
      ModuleOf("s32[4]", "{devices=[2,2]<=[4] last_tile_dims={unreduced}}");
  const absl::StatusOr<TileMap> map = MapOf(*module, 4);
  ASSERT_TRUE(map.ok()) << Message(map.status());
  const absl::StatusOr<JoinedArray> joined = JoinTiles(
      {Value("s32[2] {1,2}"), Value("s32[2] {10,20}"), Value("s32[2] {3,4}"), Value("s32[2] {30,40}")}, *map,
      Shape::Array(ElementType::kS32, {4}));
  ASSERT_TRUE(joined.ok()) << Message(joined.status());
  EXPECT_EQ(Text(joined->value), "{11,22,33,44}");
}

TEST(Sharding, NamesTheFirstElementInWhichCopiesDiffer) {
  const std::unique_ptr<Module> module = ModuleOf("s32[4]", "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  const absl::StatusOr<TileMap> map = MapOf(*module, 4);
  ASSERT_TRUE(map.ok()) << Message(map.status());
  const absl::StatusOr<JoinedArray> joined =
      JoinTiles({Value("s32[2] {1,2}"), Value("s32[2] {1,2}"), Value("s32[2] {3,4}"), Value("s32[2] {3,5}")},
                *map, Shape::Array(ElementType::kS32, {4}));
  ASSERT_TRUE(joined.ok()) << Message(joined.status());
  EXPECT_EQ(Text(joined->value), "{1,2,3,4}");
  ASSERT_EQ(joined->disagreements.size(), 1);
  EXPECT_EQ(joined->disagreements[0].partition, 2);
  EXPECT_EQ(joined->disagreements[0].other, 3);
  EXPECT_EQ(joined->disagreements[0].index, Index({3}));
}

TEST(Sharding, JoinsTilesOfPartitionsWithOneManualPosition) {
  const std::unique_ptr<Module> module =
      ModuleOf("s32[4,2]", "{devices=[2,1,2]<=[4] last_tile_dims={manual}}");
  const absl::StatusOr<TileMap> map = MapOf(*module, 4);
  ASSERT_TRUE(map.ok()) << Message(map.status());
  const std::vector<Literal> tiles = {Value("s32[2,2] {{0,1},{4,5}}"), Value("s32[2,2] {{2,3},{6,7}}"),
                                      Value("s32[2,2] {{8,9},{12,13}}"), Value("s32[2,2] {{10,11},{14,15}}")};
  const std::vector<std::string> wanted = {"{{0,1},{4,5},{8,9},{12,13}}", "{{2,3},{6,7},{10,11},{14,15}}"};
  for (int64_t p = 0; p < 4; ++p) {
    const absl::StatusOr<Literal> value =
        AssembleTiles(tiles, *map, Shape::Array(ElementType::kS32, {4, 2}), map->at(p));
    ASSERT_TRUE(value.ok()) << Message(value.status());
    EXPECT_EQ(Text(*value), wanted[p % 2]);
  }
  EXPECT_EQ(Message(JoinTiles(tiles, *map, Shape::Array(ElementType::kS32, {4, 2})).status()),
            "values with a manual sharding are not parts of one array");
}

TEST(Sharding, ReportsInvalidShardings) {
  const auto problem = [](const std::string& shape, const std::string& sharding, int64_t partitions) {
    const std::unique_ptr<Module> module = ModuleOf(shape, sharding);
    return std::string(Message(MapOf(*module, partitions).status()));
  };
  EXPECT_EQ(problem("s32[4]", "{devices=[4]<=[4]}", 8),
            "the sharding covers 4 devices, but a replica has 8 partitions");
  EXPECT_EQ(problem("s32[4]", "{devices=[2,2]<=[4]}", 4),
            "the sharding has 2 dimensions, but the array has 1");
  EXPECT_EQ(problem("s32[4]", "{devices=[4]0,1,1,2}", 4), "the sharding names device 1 twice");
  EXPECT_EQ(problem("s32[4]", "{maximal device=4}", 4),
            "the sharding names device 4, but a replica has 4 partitions");
  EXPECT_EQ(problem("s32[4]", "{mesh['a'=4,'b'=2], [{'a'}]}", 4),
            "the sharding covers 8 devices, but a replica has 4 partitions");
}

TEST(Sharding, GivesEachLeafOfATupleItsElement) {
  const std::unique_ptr<Module> module =
      ModuleOf("(s32[4], (s32[2], s32[]))", "{{devices=[2]<=[2]}, {replicated}, {maximal device=0}}");
  const Instruction& p = *module->entry()->root();
  const auto leaves = LeafShardings(p.Get<attr::sharding>(), p.shape());
  ASSERT_TRUE(leaves.ok()) << Message(leaves.status());
  ASSERT_EQ(leaves->size(), 3);
  EXPECT_EQ((*leaves)[2]->kind, Sharding::Kind::kMaximal);
  EXPECT_EQ(Message(LeafShardings(p.Get<attr::sharding>(), Shape::Tuple({p.shape()})).status()), "");
  EXPECT_EQ(Message(LeafShardings(p.Get<attr::sharding>(), p.shape().element(1)).status()),
            "the sharding has 3 elements, but (s32[2], s32[]) has 2 leaves");
}

}  // namespace
}  // namespace hlo::spmd
