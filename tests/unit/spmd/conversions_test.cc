// Tests conversions at the boundaries of manual regions, in the forms of XLA and of Shardy (spmd 5.5),
// and the splitting and joining of a program's arguments and results.

#include "spmd/conversions.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "spmd/entry_shards.h"
#include "spmd/shards.h"
#include "unit/spmd/load.h"

namespace hlo::spmd {
namespace {

// Returns the values of all partitions after a conversion of their values.
std::vector<std::string> Converted(const Instruction& call, const std::vector<Literal>& values) {
  const auto conversions = ConversionsOf(call, static_cast<int64_t>(values.size()));
  EXPECT_TRUE(conversions.ok()) << Message(conversions.status());
  if (!conversions.ok()) return {};
  const ShapeConversion& c = (*conversions)[0];
  std::vector<Literal> tiles;
  std::vector<std::string> results;
  for (int64_t p = 0; p < c.from.partitions(); ++p) tiles.push_back(*TileOf(values[p], c.from, p));
  for (int64_t p = 0; p < c.from.partitions(); ++p)
    results.push_back(Text(*AssembleTiles(tiles, c.to, c.result, c.to.at(p))));
  return results;
}

std::string Problem(const std::string& text, int64_t partitions) {
  const auto module = Load(text);
  return std::string(Message(ConversionsOf(*module->entry()->root(), partitions).status()));
}

TEST(ShapeConversion, SplitsAnArrayIntoTheValuesOfARegion) {
  const auto module = Load(R"(HloModule m
ENTRY e {
  x = s32[4,2] parameter(0), sharding={devices=[2,2]<=[4]}
  ROOT m = s32[2,1] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
})");
  const std::vector<Literal> x(4, Value("s32[4,2] {{1,2},{3,4},{5,6},{7,8}}"));
  EXPECT_EQ(Converted(*module->entry()->root(), x),
            (std::vector<std::string>{"{{1},{3}}", "{{2},{4}}", "{{5},{7}}", "{{6},{8}}"}));
}

TEST(ShapeConversion, JoinsTheValuesOfARegion) {
  const auto module = Load(R"(HloModule m
ENTRY e {
  x = s32[2,1] parameter(0), sharding={manual}
  ROOT g = s32[4,1] custom-call(x), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
})");
  const Literal low = Value("s32[2,1] {{3},{7}}"), high = Value("s32[2,1] {{11},{15}}");
  EXPECT_EQ(Converted(*module->entry()->root(), {low, low, high, high}),
            std::vector<std::string>(4, "{{3},{7},{11},{15}}"));
}

TEST(ShapeConversion, KeepsTheManualPartOfAPartlyManualValue) {
  const auto module = Load(R"(HloModule m
ENTRY e {
  x = s32[2,2] parameter(0), sharding={manual}
  ROOT g = s32[4,2] custom-call(x), custom_call_target="SPMDShardToFullShape", sharding={devices=[2,1,2]<=[4] last_tile_dims={manual}}
})");
  const std::vector<Literal> tiles = {Value("s32[2,2] {{0,1},{4,5}}"), Value("s32[2,2] {{2,3},{6,7}}"),
                                      Value("s32[2,2] {{8,9},{12,13}}"), Value("s32[2,2] {{10,11},{14,15}}")};
  const std::string even = "{{0,1},{4,5},{8,9},{12,13}}", odd = "{{2,3},{6,7},{10,11},{14,15}}";
  EXPECT_EQ(Converted(*module->entry()->root(), tiles), (std::vector<std::string>{even, odd, even, odd}));
}

const std::vector<Literal> kGlobal(
    6, Value("s32[6,4] {{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15},{16,17,18,19},{20,21,22,23}}"));

TEST(ShapeConversion, ReadsTheMeshesAndAxesOfShardysText) {
  const auto module =
      Load(R"(HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2, "b"=3]>}}
ENTRY e {
  x = s32[6,4] parameter(0)
  ROOT m = s32[2,2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"b\"}, {\"a\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"a\", \"b\"}>"}
})");
  const std::vector<std::string> local = Converted(*module->entry()->root(), kGlobal);
  ASSERT_EQ(local.size(), 6);
  EXPECT_EQ(local[0], "{{0,1},{4,5}}");
  EXPECT_EQ(local[4], "{{10,11},{14,15}}");
  EXPECT_EQ(local[5], "{{18,19},{22,23}}");
}

TEST(ShapeConversion, SplitsAlongTheManualAxesAlone) {
  const auto module = Load(R"(HloModule m
ENTRY e {
  x = s32[6,4] parameter(0), sharding={mesh['a'=2,'b'=3], [{'b'}, {'a', ?}]}
  ROOT m = s32[6,2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", sharding={mesh['a'=2,'b'=3], [{?}, {?}], manual={'a'}}
})");
  const std::vector<std::string> local = Converted(*module->entry()->root(), kGlobal);
  ASSERT_EQ(local.size(), 6);
  EXPECT_EQ(local[1], "{{0,1},{4,5},{8,9},{12,13},{16,17},{20,21}}");
  EXPECT_EQ(local[3], "{{2,3},{6,7},{10,11},{14,15},{18,19},{22,23}}");
}

TEST(ShapeConversion, ReportsInvalidConversions) {
  EXPECT_EQ(Problem(R"(HloModule m
ENTRY e {
  x = s32[4] parameter(0), sharding={devices=[2]<=[2]}
  ROOT m = s32[3] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
})",
                    2),
            "a device holds s32[2] of the operand s32[4], but s32[3] of the result s32[3]");
  EXPECT_EQ(Problem(R"(HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  ROOT m = s32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape"
})",
                    2),
            "the shardings of a manual region do not name its manual axes");
  EXPECT_EQ(Problem(R"(HloModule m
ENTRY e {
  x = s32[4] parameter(0)
  ROOT m = s32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"b\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"a\"}>"}
})",
                    2),
            "'#sdy.sharding_per_value<[<@mesh, [{\"b\"}]>]>': the module has no mesh 'mesh'");
}

constexpr char kPartitioned[] = R"(HloModule m, num_partitions=2
ENTRY main_spmd {
  x = s32[2,3] parameter(0), sharding={devices=[2,1]<=[2]}
  y = s32[] parameter(1), sharding={replicated}
  b = s32[2,3] broadcast(y), dimensions={}
  s = s32[2,3] add(x, b)
  ROOT t = (s32[2,3], s32[]) tuple(s, y), sharding={{devices=[2,1]<=[2]}, {replicated}}
})";

TEST(EntryShards, SplitsArgumentsAndJoinsResults) {
  const auto module = Load(kPartitioned);
  EXPECT_TRUE(IsPartitioned(*module));
  const auto shards = EntryShards::Make(*module, 2);
  ASSERT_TRUE(shards.ok()) << Message(shards.status());
  EXPECT_EQ(ToString(shards->parameters()[0]), "s32[4,3]");
  EXPECT_EQ(ToString(shards->result()), "(s32[4,3], s32[])");
  const std::vector<Literal> whole = {Value("s32[4,3] {{0,1,2},{3,4,5},{6,7,8},{9,10,11}}"),
                                      Value("s32[] 7")};
  std::vector<Literal> results;
  for (int64_t p = 0; p < 2; ++p) {
    const auto part = shards->Split(whole, p);
    ASSERT_TRUE(part.ok()) << Message(part.status());
    results.push_back(Literal::Tuple(*part));
  }
  EXPECT_EQ(Text(results[1]), "({{6,7,8},{9,10,11}},7)");
  const auto joined = shards->Join(results);
  ASSERT_TRUE(joined.ok()) << Message(joined.status());
  EXPECT_EQ(Text(joined->value), "({{0,1,2},{3,4,5},{6,7,8},{9,10,11}},7)");
  EXPECT_TRUE(joined->disagreements.empty());
  results[1] = Literal::Tuple({results[1].element(0), Value("s32[] 8")});
  EXPECT_EQ(shards->Join(results)->disagreements,
            std::vector<std::string>{
                "partitions 0 and 1 differ in element [] of result 1, of which they hold copies"});
}

TEST(EntryShards, UsesTheShardingsOfTheModuleBeforePartitioning) {
  const auto partitioned = Load(R"(HloModule m, num_partitions=2
ENTRY main_spmd {
  ROOT x = s32[2] parameter(0)
})");
  const auto whole = Load(R"(HloModule m, num_partitions=2
ENTRY main {
  ROOT x = s32[3] parameter(0), sharding={devices=[2]<=[2]}
})");
  EXPECT_FALSE(IsPartitioned(*whole));
  const auto shards = EntryShards::Make(*partitioned, 2, whole.get());
  ASSERT_TRUE(shards.ok()) << Message(shards.status());
  EXPECT_EQ(ToString(shards->parameters()[0]), "s32[3]");
  EXPECT_EQ(Text((*shards->Split({Value("s32[3] {1,2,3}")}, 1))[0]), "{3,0}");
  EXPECT_EQ(Text(shards->Join({Value("s32[2] {1,2}"), Value("s32[2] {3,9}")})->value), "{1,2,3}");
  EXPECT_EQ(Message(EntryShards::Make(*whole, 2, whole.get()).status()),
            "'x': the partitioned module has s32[3], but the tiles of s32[3] are s32[2]");
  const auto unmarked = Load(R"(HloModule m, num_partitions=2
ENTRY main {
  ROOT x = s32[3] parameter(0)
})");
  EXPECT_EQ(
      Message(EntryShards::Make(*partitioned, 2, unmarked.get()).status()),
      "'x': the partitioned module has s32[2] of s32[3], by a sharding that XLA chose; add `sharding=` to "
      "it in the module before partitioning");
}

TEST(EntryShards, TakesTheShardingsWithWhichManualRegionsEnd) {
  const auto partitioned = Load(R"(HloModule m, num_partitions=2
ENTRY main_spmd {
  x = s32[2] parameter(0)
  y = s32[2] negate(x)
  ROOT t = (s32[2], s32[2]) tuple(x, y)
})");
  const std::string before = R"(HloModule m, num_partitions=2,
  frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["d"=2]>}}
ENTRY main {
  x = s32[4] parameter(0), sharding={devices=[2]<=[2]}
  p = s32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={
    xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"d\"}]>]>",
    xla.sdy.manual_axes="#sdy<manual_axes{\"d\"}>"}
  n = s32[2] negate(p)
  g = s32[4] custom-call(n), custom_call_target="xla.sdy.LocalToGlobalShape", frontend_attributes={
    xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"d\"}]>]>",
    xla.sdy.manual_axes="#sdy<manual_axes{\"d\"}>"}
  ROOT t = (s32[4], s32[4]) tuple(RESULT, g)
})";
  const auto whole = Load(absl::StrReplaceAll(before, {{"RESULT", "x"}}));
  const auto shards = EntryShards::Make(*partitioned, 2, whole.get());
  ASSERT_TRUE(shards.ok()) << Message(shards.status());
  EXPECT_TRUE(shards->CanJoin());
  const std::vector<Literal> results = {Literal::Tuple({Value("s32[2] {1,2}"), Value("s32[2] {5,6}")}),
                                        Literal::Tuple({Value("s32[2] {3,4}"), Value("s32[2] {7,8}")})};
  EXPECT_EQ(Text(shards->Join(results)->value), "({1,2,3,4},{5,6,7,8})");
  // Without a sharding, the results of the partitions remain apart.
  const auto unknown =
      Load(absl::StrReplaceAll(before, {{"RESULT", "n2"}, {"  n = ", "  n2 = s32[4] negate(x) n = "}}));
  const auto apart = EntryShards::Make(*partitioned, 2, unknown.get());
  ASSERT_TRUE(apart.ok()) << Message(apart.status());
  EXPECT_FALSE(apart->CanJoin());
  EXPECT_EQ(
      apart->unknown_result(),
      "'t': the partitioned module has (s32[2], s32[2]) of (s32[4], s32[4]), by a sharding that XLA chose; "
      "add `sharding=` to it in the module before partitioning");
}

TEST(EntryShards, GivesWholeArraysToModulesThatAreNotPartitioned) {
  const auto module = Load(R"(HloModule m, num_partitions=2
ENTRY main {
  x = s32[4] parameter(0), sharding={devices=[2]<=[2]}
  ROOT n = s32[4] negate(x), sharding={devices=[2]<=[2]}
})");
  EXPECT_FALSE(IsPartitioned(*module));
  const auto shards = EntryShards::Make(*module, 2);
  ASSERT_TRUE(shards.ok()) << Message(shards.status());
  const Literal x = Value("s32[4] {1,2,3,4}");
  EXPECT_EQ(Text((*shards->Split({x}, 1))[0]), "{1,2,3,4}");
  EXPECT_EQ(Text(shards->Join({x, x})->value), "{1,2,3,4}");
  EXPECT_TRUE(shards->CanJoin());
}

}  // namespace
}  // namespace hlo::spmd
