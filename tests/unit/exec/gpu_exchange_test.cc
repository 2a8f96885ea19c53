// Tests collectives between GPUs of one process: values are the reference's, and none goes through the host.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "as_reference.h"
#include "fmt/format.h"
#include "on_gpu.h"
#include "test_devices.h"

namespace hlo::gpu_exchange_test {
namespace {

Literal Draw(const Shape& shape, std::mt19937& random) {
  Literal literal = *Literal::Create(shape);
  switch (shape.type()) {
    case ElementType::kF32:
      for (float& x : literal.mutable_span<float>())
        x = static_cast<float>(random() % 20000) / 7000.0f - 1.0f;
      break;
    case ElementType::kS32:
      for (int32_t& x : literal.mutable_span<int32_t>()) x = static_cast<int32_t>(random());
      break;
    default:
      for (int64_t i = 0; i < literal.byte_count(); i += 2) {  // bf16: finite values.
        literal.mutable_data()[i] = static_cast<std::byte>(random());
        literal.mutable_data()[i + 1] = static_cast<std::byte>(0x3f + 0x80 * (random() % 2));
      }
  }
  return literal;
}

// Uses one GPU for all devices, or up to three GPUs round-robin.
std::vector<Device> Targets() {
  if (test::OnGpu()) {
    const int count = static_cast<int>(device::ListGpus()->size());
    Device all{Device::Kind::kGpu, 0, {}};
    for (int number = 1; number < count; ++number) all.more.push_back(number);
    return {{Device::Kind::kGpu, 0, {}}, all};
  }
  return {{Device::Kind::kEmulatedGpu, 0, {}}, {Device::Kind::kEmulatedGpu, 0, {1, 3}}};
}

// Runs the module twice, because the second run has the memory of the first. `fallbacks`: the steps that may
// go through the host.
void ExpectAsReferenceOnDevices(const std::string& text, int64_t device_count, size_t fallbacks = 0) {
  CheckedModule module = Load(fmt::format("HloModule m, replica_count={}\n{}", device_count, text));
  std::mt19937 random(7);
  std::vector<std::vector<Literal>> arguments(device_count);
  for (std::vector<Literal>& own : arguments) {
    for (const Instruction* parameter : module.module().entry()->parameters())
      own.push_back(Draw(parameter->shape(), random));
  }
  absl::StatusOr<Executable> reference = Executable::Make(module, Engine::kReference, {});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const absl::StatusOr<std::vector<Literal>> wanted = reference->RunDevices(arguments, {}, {});
  ASSERT_TRUE(wanted.ok()) << wanted.status() << text;
  for (const Device& device : Targets()) {
    absl::StatusOr<Executable> executable = Executable::Make(module, Engine::kFast, {}, device);
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (int run = 0; run < 2; ++run) {
      const absl::StatusOr<std::vector<Literal>> got = executable->RunDevices(arguments, {}, {});
      ASSERT_TRUE(got.ok()) << got.status() << text;
      for (int64_t d = 0; d < device_count; ++d) {
        const std::vector<LiteralLeaf> leaves = ArrayLeaves((*got)[d]), other = ArrayLeaves((*wanted)[d]);
        ASSERT_EQ(leaves.size(), other.size());
        for (size_t k = 0; k < leaves.size(); ++k) {
          const CompareReport report = CompareArrays(*leaves[k].value, *other[k].value, CompareRule::Exact());
          ASSERT_TRUE(report.ok()) << "device " << d << " of " << device_count << "\n"
                                   << ToString(report) << text;
        }
      }
    }
    EXPECT_EQ(executable->fallbacks().size(), fallbacks) << text;
  }
}

constexpr std::string_view kReducers = R"(
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
minus { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] subtract(y, x) }
times { x = bf16[] parameter(0) y = bf16[] parameter(1) ROOT z = bf16[] multiply(x, y) }
most { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] maximum(x, y) }
)";
std::string WithReducers(std::string_view entry) { return std::string(kReducers) + std::string(entry); }

TEST(GpuExchange, SmallAllReduces) {
  ExpectAsReferenceOnDevices(WithReducers(R"(
ENTRY e {
  a = f32[3,5] parameter(0)
  b = s32[7] parameter(1)
  h = bf16[33] parameter(2)
  s = f32[3,5] all-reduce(a), replica_groups={{2,0,1},{3,5,4}}, to_apply=add
  d = f32[3,5] all-reduce(s), replica_groups={}, to_apply=minus
  m = s32[7] all-reduce(b), replica_groups={{0,5},{1,4},{2,3}}, to_apply=most
  t = bf16[33] all-reduce(h), replica_groups={}, to_apply=times
  ROOT r = (f32[3,5], f32[3,5], s32[7], bf16[33]) tuple(s, d, m, t)
})"),
                             6);
}

// Each member folds a part, and gathers the others; the length is not a multiple of the number of members.
TEST(GpuExchange, LargeAllReduces) {
  ExpectAsReferenceOnDevices(WithReducers(R"(
ENTRY e {
  a = f32[20011] parameter(0)
  h = bf16[40003] parameter(1)
  s = f32[20011] all-reduce(a), replica_groups={{2,0,1},{3,5,4}}, to_apply=minus
  t = bf16[40003] all-reduce(h), replica_groups={}, to_apply=times
  ROOT r = (f32[20011], bf16[40003]) tuple(s, t)
})"),
                             6);
}

// A launch reads 8 arrays at most.
TEST(GpuExchange, AllReducesOfManyDevices) {
  ExpectAsReferenceOnDevices(WithReducers(R"(
ENTRY e {
  a = f32[1001] parameter(0)
  b = f32[17000] parameter(1)
  ROOT s = (f32[1001], f32[17000]) all-reduce(a, b), replica_groups={}, to_apply=minus
})"),
                             19);
}

TEST(GpuExchange, UnusedResults) {
  ExpectAsReferenceOnDevices(WithReducers(R"(
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[20000] parameter(1)
  s = (f32[8], f32[20000]) all-reduce(a, b), replica_groups={}, to_apply=add
  ROOT r = f32[8] get-tuple-element(s), index=0
})"),
                             4);
}

TEST(GpuExchange, ReduceScatters) {
  ExpectAsReferenceOnDevices(WithReducers(R"(
ENTRY e {
  a = f32[3,8,5] parameter(0)
  b = f32[40000] parameter(1)
  s = f32[3,2,5] reduce-scatter(a), replica_groups={}, dimensions={1}, to_apply=minus
  t = f32[20000] reduce-scatter(b), replica_groups={{3,1},{0,2}}, dimensions={0}, to_apply=add
  ROOT r = (f32[3,2,5], f32[20000]) tuple(s, t)
})"),
                             4);
}

TEST(GpuExchange, MovedValuesAreThoseOfTheReference) {
  ExpectAsReferenceOnDevices(R"(
ENTRY e {
  a = f32[3,4,5] parameter(0)
  b = s32[4] parameter(1)
  g = f32[3,16,5] all-gather(a), replica_groups={{1,0,3,2}}, dimensions={1}
  p = (f32[3,4,5], f32[6,4,5]) all-gather-start(a), replica_groups={{0,3},{1,2}}, dimensions={0}
  q = f32[6,4,5] all-gather-done(p)
  x = f32[3,4,5] all-to-all(a), replica_groups={}, dimensions={1}
  y = (s32[4], s32[4]) all-to-all(b, b), replica_groups={{0,1},{3,2}}
  c = f32[3,4,5] collective-broadcast(a), replica_groups={{2,1}}
  ROOT r = (f32[3,16,5], f32[6,4,5], f32[3,4,5], (s32[4], s32[4]), f32[3,4,5]) tuple(g, q, x, y, c)
})",
                             4);
}

// Devices send 2 rows to device 0 and 1 row to device 1. The result may overwrite the operand in the loop.
TEST(GpuExchange, RaggedRows) {
  ExpectAsReferenceOnDevices(R"(
c {
  s = (s32[], f32[6,3], f32[9,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], f32[6,3], f32[9,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[6,3] get-tuple-element(s), index=1
  y = f32[9,3] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  from = s32[2] constant({0, 4})
  sizes = s32[2] constant({2, 1})
  id = u32[] replica-id()
  me = s32[] convert(id)
  mine = s32[2] broadcast(me), dimensions={}
  two = s32[2] constant({2, 2})
  begin = s32[2] constant({1, 1})
  shift = s32[2] multiply(mine, two)
  to = s32[2] add(begin, shift)
  received = s32[2] subtract(two, mine)
  z = f32[9,3] ragged-all-to-all(x, y, from, sizes, to, received), replica_groups={{0,1}}
  h = f32[6,3] slice(z), slice={[1:7], [0:3]}
  ROOT r = (s32[], f32[6,3], f32[9,3]) tuple(j, h, z)
}
ENTRY e {
  x = f32[6,3] parameter(0)
  y = f32[9,3] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[6,3], f32[9,3]) tuple(zero, x, y)
  ROOT w = (s32[], f32[6,3], f32[9,3]) while(s), condition=c, body=b
})",
                             2);
}

// A ring of sends and receives in a loop. Device 3 receives nothing and gets zeros.
TEST(GpuExchange, TransfersInLoops) {
  ExpectAsReferenceOnDevices(R"(
c {
  s = (s32[], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[5,3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  k = token[] after-all()
  v = (f32[5,3], u32[], token[]) recv(k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,0}}"}
  p = (f32[5,3], u32[], token[]) send(x, k), control-predecessors={v}, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,0}}"}
  d = (f32[5,3], token[]) recv-done(v)
  t = token[] send-done(p), control-predecessors={v}
  y = f32[5,3] get-tuple-element(d), index=0
  z = f32[5,3] add(x, y)
  ROOT r = (s32[], f32[5,3]) tuple(j, z)
}
ENTRY e {
  x = f32[5,3] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[5,3]) tuple(zero, x)
  ROOT w = (s32[], f32[5,3]) while(s), condition=c, body=b
})",
                             4);
}

// A loop that is pipelined: its state has the recv that the next iteration completes.
TEST(GpuExchange, TransfersThatTheNextIterationCompletes) {
  ExpectAsReferenceOnDevices(R"(
c {
  s = (s32[], f32[7], (f32[7], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], f32[7], (f32[7], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[7] get-tuple-element(s), index=1
  u = (f32[7], u32[], token[]) get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  k = token[] after-all()
  p = (f32[7], u32[], token[]) send(x, k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  t = token[] send-done(p)
  d = (f32[7], token[]) recv-done(u), control-predecessors={p}
  y = f32[7] get-tuple-element(d), index=0
  v = (f32[7], u32[], token[]) recv(k), control-predecessors={d}, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  z = f32[7] subtract(x, y)
  ROOT r = (s32[], f32[7], (f32[7], u32[], token[])) tuple(j, z, v)
}
ENTRY e {
  x = f32[7] parameter(0)
  zero = s32[] constant(0)
  k = token[] after-all()
  v = (f32[7], u32[], token[]) recv(k), frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  s = (s32[], f32[7], (f32[7], u32[], token[])) tuple(zero, x, v)
  w = (s32[], f32[7], (f32[7], u32[], token[])) while(s), condition=c, body=b
  q = f32[7] get-tuple-element(w), index=1
  p = (f32[7], u32[], token[]) send(q, k), control-predecessors={w}, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,0}}"}
  t = token[] send-done(p)
  o = (f32[7], u32[], token[]) get-tuple-element(w), index=2
  d = (f32[7], token[]) recv-done(o), control-predecessors={p}
  y = f32[7] get-tuple-element(d), index=0
  ROOT r = (f32[7], f32[7]) tuple(q, y)
})",
                             2);
}

// Device 0 runs ahead of the others: what it sends in one iteration must outlive the next.
TEST(GpuExchange, PermutesInLoops) {
  ExpectAsReferenceOnDevices(R"(
c {
  s = (s32[], f32[100], f32[100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT l = pred[] compare(i, n), direction=LT
}
b {
  s = (s32[], f32[100], f32[100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[100] get-tuple-element(s), index=1
  y = f32[100] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  p = f32[100] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3},{3,4}}
  q = f32[100] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,0},{3,4},{4,3}}
  z = f32[100] add(p, y)
  ROOT r = (s32[], f32[100], f32[100]) tuple(j, q, z)
}
ENTRY e {
  x = f32[100] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[100], f32[100]) tuple(zero, x, x)
  ROOT w = (s32[], f32[100], f32[100]) while(s), condition=c, body=b
})",
                             5);
}

TEST(GpuExchange, ReducersOfSeveralOperationsGoThroughTheHost) {
  ExpectAsReferenceOnDevices(R"(
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  s = f32[] add(x, y)
  ROOT z = f32[] multiply(s, x)
}
ENTRY e {
  a = f32[9] parameter(0)
  ROOT s = f32[9] all-reduce(a), replica_groups={}, to_apply=f
})",
                             3, 1);
}

}  // namespace
}  // namespace hlo::gpu_exchange_test
