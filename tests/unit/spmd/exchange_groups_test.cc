// Tests the identities of devices and the groups of collectives against the worked examples of spmd 7.

#include "spmd/exchange_groups.h"

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "unit/spmd/load.h"

namespace hlo::spmd {
namespace {

constexpr std::string_view kAdd =
    "f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }\n";

std::unique_ptr<Module> Program(const std::string& root) {
  return Load(
      fmt::format("HloModule m\n{}ENTRY e {{ a = s32[4] parameter(0)\n ROOT r = s32[4] {} }}", kAdd, root));
}

std::string GroupsText(const std::vector<std::vector<int64_t>>& groups) {
  return absl::StrJoin(groups, " ", [](std::string* out, const std::vector<int64_t>& group) {
    *out += "[" + absl::StrJoin(group, ",") + "]";
  });
}

// Returns the groups of an all-reduce, or the error.
std::string AllReduceGroups(const std::string& attributes, DeviceGrid grid) {
  const auto module = Program("all-reduce(a), to_apply=f, " + attributes);
  const absl::StatusOr<Groups> groups = ExpandGroups(*module->entry()->root(), grid);
  return groups.ok() ? GroupsText(groups->members) : std::string(Message(groups.status()));
}

std::string AllToAllGroups(const std::string& attributes, DeviceGrid grid) {
  const auto module = Program("all-to-all(a), dimensions={0}, " + attributes);
  const absl::StatusOr<Groups> groups = ExpandGroups(*module->entry()->root(), grid);
  return groups.ok() ? GroupsText(groups->members) : std::string(Message(groups.status()));
}

std::string FlattenedGroups(const std::string& groups, int64_t partitions) {
  return AllReduceGroups("channel_id=1, use_global_device_ids=true, replica_groups=" + groups,
                         {1, partitions});
}

TEST(DeviceGrid, NumbersPartitionsWithinReplicas) {
  const DeviceGrid grid{2, 3};
  std::vector<int64_t> ids;
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t p = 0; p < 3; ++p) {
      ids.push_back(grid.Id(r, p));
      EXPECT_EQ(grid.replica(ids.back()), r);
      EXPECT_EQ(grid.partition(ids.back()), p);
    }
  }
  EXPECT_EQ(ids, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(grid.NameOf(4), "device 4 (replica 1, partition 1)");
}

TEST(ExpandGroups, FollowsTheMode) {
  const DeviceGrid grid{3, 2};
  EXPECT_EQ(AllReduceGroups("replica_groups={{2,0},{1}}", grid), "[4,0] [5,1] [2] [3]");
  EXPECT_EQ(AllReduceGroups("channel_id=1, replica_groups={{2,0},{1}}", grid), "[4,5,0,1] [2,3]");
  EXPECT_EQ(AllToAllGroups("channel_id=1, replica_groups={{1,0}}", grid), "[1,0] [3,2] [5,4]");
  EXPECT_EQ(
      AllReduceGroups("channel_id=1, use_global_device_ids=true, replica_groups={{5,0,3},{1},{4,2}}", grid),
      "[5,0,3] [1] [4,2]");
}

TEST(ExpandGroups, UsesAllDevicesOfTheModeWithoutGroups) {
  const DeviceGrid grid{3, 2};
  EXPECT_EQ(AllReduceGroups("replica_groups={}", grid), "[0,2,4] [1,3,5]");
  EXPECT_EQ(AllToAllGroups("channel_id=1, replica_groups={}", grid), "[0,1] [2,3] [4,5]");
  EXPECT_EQ(AllReduceGroups("channel_id=1, replica_groups={}", grid), "[0,1,2,3,4,5]");
  EXPECT_EQ(AllReduceGroups("channel_id=1, use_global_device_ids=true, replica_groups={}", grid),
            "use_global_device_ids needs replica_groups");
}

TEST(ExpandGroups, ExpandsIotas) {
  EXPECT_EQ(FlattenedGroups("[3,4]<=[12]", 12), "[0,1,2,3] [4,5,6,7] [8,9,10,11]");
  EXPECT_EQ(FlattenedGroups("[6,2]<=[2,3,2]T(2,0,1)", 12), "[0,2] [4,6] [8,10] [1,3] [5,7] [9,11]");
  EXPECT_EQ(FlattenedGroups("[4,3]<=[2,3,2]T(1,2,0)", 12), "[0,6,1] [7,2,8] [3,9,4] [10,5,11]");
  EXPECT_EQ(FlattenedGroups("[4,2]<=[2,2,2]T(0,2,1)", 8), "[0,2] [1,3] [4,6] [5,7]");
}

TEST(ExpandGroups, ExpandsMeshes) {
  const std::string mesh = "mesh['a'=4,'b'=2] ";
  EXPECT_EQ(FlattenedGroups(mesh + "{'b'}", 8), "[0,1] [2,3] [4,5] [6,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'a'}", 8), "[0,2,4,6] [1,3,5,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'a':(1)2}", 8), "[0,4] [1,5] [2,6] [3,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'a':(2)2}", 8), "[0,2] [1,3] [4,6] [5,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'b','a':(2)2}", 8), "[0,2,1,3] [4,6,5,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'a':(2)2,'b'}", 8), "[0,1,2,3] [4,5,6,7]");
  EXPECT_EQ(FlattenedGroups(mesh + "{'b','a'}", 8), "[0,2,4,6,1,3,5,7]");
  const std::string placed = "mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) ";
  EXPECT_EQ(FlattenedGroups(placed + "{'b'}", 8), "[0,4] [1,5] [2,6] [3,7]");
  EXPECT_EQ(FlattenedGroups(placed + "{'a':(1)2}", 8), "[0,2] [4,6] [1,3] [5,7]");
  EXPECT_EQ(FlattenedGroups("mesh['x'=12] {'x':(6)2,'x':(1)3}", 12), "[0,4,8,1,5,9] [2,6,10,3,7,11]");
}

TEST(ExpandGroups, RejectsWrongIds) {
  EXPECT_EQ(AllReduceGroups("replica_groups={{0,1},{1,2}}", {4, 1}), "replica_groups has the id 1 twice");
  EXPECT_EQ(AllReduceGroups("replica_groups={{0,1},{2}}", {4, 1}),
            "replica_groups has 3 ids in cross-replica mode, but the run has 4 replicas; the groups and "
            "pairs of the "
            "module fit --replicas 3 --partitions 1");
  EXPECT_EQ(AllReduceGroups("channel_id=1, use_global_device_ids=true, replica_groups={{0,1,2,3}}", {1, 2}),
            "replica_groups has the id 2, but the run has 2 devices; the groups and pairs of the module fit "
            "--replicas 1 --partitions 4");
  EXPECT_EQ(AllReduceGroups("replica_groups={{0},{}}", {1, 1}), "replica_groups has an empty group");
  EXPECT_EQ(AllToAllGroups("replica_groups={{0},{1,2}}", {3, 1}),
            "all-to-all needs groups of one size, but there are sizes 1 and 2");
  EXPECT_EQ(AllReduceGroups("mode=flattened_id, use_global_device_ids=true, replica_groups={{0}}", {1, 1}),
            "use_global_device_ids needs a channel_id");
}

// Returns the source of each device, or the error.
std::string Sources(const std::string& attributes, DeviceGrid grid) {
  const auto module = Program("collective-permute(a), " + attributes);
  const absl::StatusOr<Routes> routes = ExpandPairs(*module->entry()->root(), grid);
  return routes.ok() ? absl::StrJoin(routes->sources, " ") : std::string(Message(routes.status()));
}

TEST(ExpandPairs, NumbersReplicasOrPartitions) {
  EXPECT_EQ(Sources("source_target_pairs={{0,2},{2,1},{3,3}}", {4, 1}), "-1 2 0 3");
  EXPECT_EQ(Sources("channel_id=1, source_target_pairs={{0,1},{1,2}}", {2, 3}), "-1 0 1 -1 3 4");
  EXPECT_EQ(Sources("source_target_pairs={{0,1},{1,0}}", {2, 3}), "3 4 5 0 1 2");
}

TEST(ExpandPairs, RejectsWrongIds) {
  EXPECT_EQ(Sources("source_target_pairs={{0,1},{0,2}}", {4, 1}), "its pairs have the source 0 twice");
  EXPECT_EQ(Sources("source_target_pairs={{0,1},{2,1}}", {4, 1}), "its pairs have the target 1 twice");
  EXPECT_EQ(Sources("source_target_pairs={{0,9}}", {4, 1}),
            "its pairs have the id 9, but the run has 4 replicas; the groups and pairs of the module fit "
            "--replicas 10 "
            "--partitions 1");
}

TEST(TransferPairs, ReadsTheFrontendAttribute) {
  const auto pairs = [](const std::string& text) -> std::string {
    const auto module = Load(
        "HloModule m\nENTRY e { k = token[] after-all()\n ROOT v = (s32[2], u32[], token[]) recv(k), "
        "frontend_attributes={_xla_send_recv_source_target_pairs=\"" +
        text + "\"} }");
    const auto read = TransferPairs(*module->entry()->root());
    if (!read.ok()) return std::string(Message(read.status()));
    return absl::StrJoin(*read, " ", absl::PairFormatter(">"));
  };
  EXPECT_EQ(pairs("{{0,1},{1,2}}"), "0>1 1>2");
  EXPECT_EQ(pairs("{ {3, 0} , {10,11} }"), "3>0 10>11");
  EXPECT_EQ(pairs("{}"), "");
  for (const std::string text :
       {"{{0,1}", "{{0}}", "{{0,1,2}}", "{{0,1}{1,2}}", "{{-1,0}}", "0,1", "{{0,1}}x"})
    EXPECT_NE(pairs(text).find("not a list of pairs"), std::string::npos) << text;
}

TEST(ChooseGrid, PrefersFlagsThenTheHeaderThenTheGroups) {
  const std::string body =
      "ENTRY e { a = s32[4] parameter(0)\n ROOT r = s32[4] all-reduce(a), replica_groups={{0,1},{2,3}}, "
      "to_apply=f }";
  const auto bare = Load(fmt::format("HloModule m\n{}{}", kAdd, body));
  const auto counted = Load(fmt::format("HloModule m, replica_count=4, num_partitions=2\n{}{}", kAdd, body));
  EXPECT_EQ(*ChooseGrid(*bare, {}, {}), (DeviceGrid{4, 1}));
  EXPECT_EQ(*ChooseGrid(*counted, {}, {}), (DeviceGrid{4, 1}));  // No instruction depends on partitions.
  const auto crossing = Load(fmt::format("HloModule m, replica_count=4, num_partitions=2\n{}{}", kAdd,
                                         "ENTRY e { a = s32[4] parameter(0)\n ROOT r = s32[4] all-reduce(a), "
                                         "channel_id=1, replica_groups={{0,1},{2,3}}, to_apply=f }"));
  EXPECT_EQ(*ChooseGrid(*crossing, {}, {}), (DeviceGrid{4, 2}));
  EXPECT_EQ(*ChooseGrid(*counted, 8, {}), (DeviceGrid{8, 2}));
  EXPECT_EQ(*ChooseGrid(*bare, {}, 3), (DeviceGrid{1, 3}));
  EXPECT_FALSE(ChooseGrid(*bare, 0, 1).ok());
  EXPECT_EQ(ChooseGrid(*bare, 100000, 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ChooseGrid, CountsTheMembersOfTheGroupThatShapesImply) {
  const auto grid = [](const std::string& root) {
    const auto module =
        Load(fmt::format("HloModule m\n{}ENTRY e {{ a = s32[4,6] parameter(0)\n ROOT r = {} }}", kAdd, root));
    return *ChooseGrid(*module, {}, {});
  };
  EXPECT_EQ(grid("s32[4,48] all-gather(a), dimensions={1}"), (DeviceGrid{8, 1}));
  EXPECT_EQ(grid("(s32[4,6], s32[12,6]) all-gather-start(a), dimensions={0}"), (DeviceGrid{3, 1}));
  EXPECT_EQ(grid("s32[4,2] reduce-scatter(a), dimensions={1}, to_apply=f"), (DeviceGrid{3, 1}));
  EXPECT_EQ(grid("(s32[4,6], s32[4,6]) all-to-all(a, a)"), (DeviceGrid{2, 1}));
  EXPECT_EQ(grid("s32[4,6] all-reduce(a), to_apply=f"), (DeviceGrid{1, 1}));
}

TEST(ChooseGrid, KeepsThePartitionsOfAPartitionedModuleWhoseArgumentsAreWhole) {
  const auto module = Load(
      "HloModule m, num_partitions=8\nENTRY e_spmd { ROOT a = s32[4] parameter(0), "
      "sharding={devices=[8]<=[8]} }");
  EXPECT_EQ(*ChooseGrid(*module, {}, {}), (DeviceGrid{1, 1}));
  EXPECT_EQ(*ChooseGrid(*module, {}, {}, /*is_sharded=*/true), (DeviceGrid{1, 8}));
}

TEST(ChooseGrid, GivesOneDeviceToAModuleThatDependsOnNone) {
  const auto module = Load("HloModule m, num_partitions=8\nENTRY e { ROOT a = s32[4] parameter(0) }");
  EXPECT_EQ(*ChooseGrid(*module, {}, {}), (DeviceGrid{1, 1}));
  EXPECT_EQ(*ChooseGrid(*module, {}, 8), (DeviceGrid{1, 8}));
}

}  // namespace
}  // namespace hlo::spmd
