// Tests the costs of collectives against sums by hand: 3 seconds and 1 / 2 second a byte for each message.

#include "spmd/collective_cost.h"

#include <gtest/gtest.h>

#include "fmt/format.h"
#include "hlo_run/parse.h"

namespace hlo::spmd {
namespace {

class CollectiveCostTest : public testing::Test {
 protected:
  // Returns the costs of instructions of the entry, whose parameter x is f32[8], 32 bytes.
  std::vector<CollectiveCost> CostsOf(const std::string& instructions, int64_t replicas,
                                      CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing,
                                      int64_t partitions = 1) {
    Diagnostics diagnostics;
    module_ = Parse(std::make_shared<SourceText>("m.hlo", fmt::format(R"(
f {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
go {{ s = f32[8] parameter(0) ROOT l = pred[] constant(true) }}
body {{ s = f32[8] parameter(0) ROOT r = f32[8] all-reduce(s), replica_groups={{{{0,1}}}}, to_apply=f }}
ENTRY e {{
  x = f32[8] parameter(0)
  {}
}})",
                                                                      instructions)),
                    diagnostics);
    EXPECT_NE(module_, nullptr);
    const auto costs = CollectiveCosts(*module_, {replicas, partitions}, {3, 2, algorithm});
    EXPECT_TRUE(costs.ok()) << costs.status();
    return costs.ok() ? *costs : std::vector<CollectiveCost>();
  }
  void ExpectOne(const std::string& instruction, int64_t replicas, int64_t messages, int64_t bytes,
                 double seconds, CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing) {
    const std::vector<CollectiveCost> costs = CostsOf(instruction, replicas, algorithm);
    ASSERT_EQ(costs.size(), 1) << instruction;
    EXPECT_EQ(costs[0].messages, messages) << instruction;
    EXPECT_EQ(costs[0].bytes, bytes) << instruction;
    EXPECT_DOUBLE_EQ(costs[0].seconds, seconds) << instruction;
  }

  std::shared_ptr<Module> module_;
};

TEST_F(CollectiveCostTest, RingsSendOneMessageLessThanMembersPerPhase) {
  // 6 messages of 8 bytes from each of 4.
  ExpectOne("r = f32[8] all-reduce(x), replica_groups={}, to_apply=f", 4, 24, 192, 6 * (3 + 4));
  ExpectOne("r = f32[2] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=f", 4, 12, 96,
            3 * (3 + 4));
  ExpectOne("r = f32[32] all-gather(x), replica_groups={}, dimensions={0}", 4, 12, 384, 3 * (3 + 16));
  ExpectOne("r = f32[8] all-to-all(x), replica_groups={}, dimensions={0}", 4, 12, 96, 3 * (3 + 4));
  // Two groups at once take the time of one.
  ExpectOne("r = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=f", 4, 8, 128, 2 * (3 + 8));
  ExpectOne("r = f32[8] all-reduce(x), replica_groups={{0},{1}}, to_apply=f", 2, 0, 0, 0);
}

TEST_F(CollectiveCostTest, TreesAndPairs) {
  // Five members need three rounds.
  ExpectOne("r = f32[8] collective-broadcast(x), replica_groups={{0,1,2,3,4}}", 5, 4, 128, 3 * (3 + 16));
  ExpectOne("r = f32[8] collective-permute(x), source_target_pairs={{0,1},{1,0},{2,2}}", 3, 2, 64, 3 + 16);
}

TEST_F(CollectiveCostTest, CentralAlgorithm) {
  // It receives 32 bytes from three others and sends 32 to each.
  ExpectOne("r = f32[8] all-reduce(x), replica_groups={}, to_apply=f", 4, 6, 192, 4 * 3 + 96,
            CollectiveAlgorithm::kCentral);
  ExpectOne("r = f32[32] all-gather(x), replica_groups={}, dimensions={0}", 4, 6, 480, 4 * 3 + 240,
            CollectiveAlgorithm::kCentral);
}

TEST_F(CollectiveCostTest, LoopsCountByTheirKnownTripCounts) {
  const std::string loop = "w = f32[8] while(x), condition=go, body=body";
  EXPECT_EQ(CostsOf(loop, 2)[0].executions, 1);
  EXPECT_EQ(CostsOf(loop + R"(, backend_config={"known_trip_count":{"n":"12"}})", 2)[0].executions, 12);
}

TEST_F(CollectiveCostTest, LoopsBetweenConstantsAreCounted) {
  const auto executions = [&](const char* first, const char* step, const char* limit) {
    Diagnostics diagnostics;
    module_ = Parse(std::make_shared<SourceText>("m.hlo", fmt::format(R"(
f {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}
go {{
  s = (f32[8], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant({2})
  ROOT l = pred[] compare(i, n), direction=LT
}}
body {{
  s = (f32[8], s32[]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  d = s32[] constant({1})
  j = s32[] add(d, i)
  r = f32[8] all-reduce(x), replica_groups={{{{0,1}}}}, to_apply=f
  ROOT t = (f32[8], s32[]) tuple(r, j)
}}
ENTRY e {{
  x = f32[8] parameter(0)
  z = s32[] constant({0})
  t = (f32[8], s32[]) tuple(x, z)
  ROOT w = (f32[8], s32[]) while(t), condition=go, body=body
}})",
                                                                      first, step, limit)),
                    diagnostics);
    EXPECT_NE(module_, nullptr);
    return (*CollectiveCosts(*module_, {2, 1}, {}))[0].executions;
  };
  EXPECT_EQ(executions("0", "1", "80"), 80);
  EXPECT_EQ(executions("-3", "4", "10"), 4);
  EXPECT_EQ(executions("5", "1", "5"), 1);   // Loops count at least once.
  EXPECT_EQ(executions("0", "-1", "5"), 1);  // Its trip count is that of an overflow.
}

TEST_F(CollectiveCostTest, GroupsAreNamed) {
  const auto costs = CostsOf(
      "r = f32[8] all-reduce(x), replica_groups={{1,0}}, to_apply=f\n"
      "  q = f32[8] all-reduce(x), replica_groups={{3,2,1,0}}, channel_id=1, use_global_device_ids=true, "
      "to_apply=f",
      2, CollectiveAlgorithm::kRing, 2);
  ASSERT_EQ(costs.size(), 2);
  EXPECT_EQ(costs[0].groups, "2 x 2: {2,0},{3,1}");
  EXPECT_EQ(costs[1].groups, "1 x 4: {3,2,1,0}");
}

}  // namespace
}  // namespace hlo::spmd
