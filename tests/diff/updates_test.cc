// Tests dynamic-update-slices fused with loops whose values have other uses, through both engines.

#include "engines.h"
#include "fmt/format.h"

namespace hlo::updates_test {
namespace {

// A loop of nine iterations with a counter, an array, and an array that it updates as state. `body` computes
// `t`, the next array, from the counter `i`, the array `h` and `all`; `rows` is the updated `all`.
std::string Scan(const char* type, const char* body) {
  const std::string h = fmt::format("{}[3,50]", type), all = fmt::format("{}[9,4,60]", type);
  const std::string state = fmt::format("(s32[], {}, {})", h, all);
  return fmt::format(
      "below {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(9)\n"
      "  ROOT c = pred[] compare(i, n), direction=LT\n}}\n"
      "step {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  h = {1} get-tuple-element(p), index=1\n  all = {2} get-tuple-element(p), index=2\n"
      "  one = s32[] constant(1)\n  zero = s32[] constant(0)\n  next = s32[] add(i, one)\n{3}"
      "  ROOT r = {0} tuple(next, t, rows)\n}}\n"
      "ENTRY main {{\n  h = {1} parameter(0)\n  all = {2} parameter(1)\n  zero = s32[] constant(0)\n"
      "  p = {0} tuple(zero, h, all)\n  ROOT w = {0} while(p), condition=below, body=step\n}}\n",
      state, h, all, body);
}

std::string Replaced(std::string text, const std::string& type) {
  for (size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at + type.size()))
    text.replace(at, 1, type);
  return text;
}

constexpr const char* kBodies[] = {
    // The row that the next iteration reads.
    "  t = T[3,50] add(h, h)\n  row = T[1,3,50] broadcast(t), dimensions={1,2}\n"
    "  rows = T[9,4,60] dynamic-update-slice(all, row, i, one, i)\n",
    // Through a reshape, of one of two results of a loop.
    "  u = T[3,50] subtract(h, h)\n  t = T[3,50] maximum(u, h)\n  v = T[3,50] add(t, u)\n"
    "  row = T[1,3,50] reshape(t)\n  other = T[9,4,60] dynamic-update-slice(all, row, zero, i, zero)\n"
    "  line = T[1,3,50] reshape(v)\n  rows = T[9,4,60] dynamic-update-slice(other, line, i, zero, one)\n",
    // Combined with the previous contents.
    "  was = T[1,3,50] dynamic-slice(all, i, one, zero), dynamic_slice_sizes={1,3,50}\n"
    "  old = T[3,50] reshape(was)\n  t = T[3,50] add(h, old)\n  row = T[1,3,50] reshape(t)\n"
    "  rows = T[9,4,60] dynamic-update-slice(all, row, i, one, zero)\n",
    // Combined with contents at another position.
    "  was = T[1,3,50] dynamic-slice(all, one, one, i), dynamic_slice_sizes={1,3,50}\n"
    "  old = T[3,50] reshape(was)\n  t = T[3,50] add(h, old)\n  row = T[1,3,50] reshape(t)\n"
    "  rows = T[9,4,60] dynamic-update-slice(all, row, one, one, zero)\n",
    // The same elements in another order.
    "  t = T[3,50] add(h, h)\n  turned = T[50,3] transpose(t), dimensions={1,0}\n"
    "  row = T[1,3,50] reshape(turned)\n  rows = T[9,4,60] dynamic-update-slice(all, row, i, one, zero)\n",
    // The update is read back.
    "  d = T[3,50] add(h, h)\n  row = T[1,3,50] reshape(d)\n"
    "  rows = T[9,4,60] dynamic-update-slice(all, row, i, one, zero)\n"
    "  back = T[1,3,50] dynamic-slice(rows, next, zero, zero), dynamic_slice_sizes={1,3,50}\n"
    "  flat = T[3,50] reshape(back)\n  s = T[3,50] slice(d), slice={[0:3], [0:50]}\n"
    "  t = T[3,50] subtract(flat, s)\n",
};

TEST(UpdatesTest, LoopsThatStoreTheUpdate) {
  for (const char* type : {"f32", "s32", "bf16", "u8"}) {
    for (const char* body : kBodies) {
      for (const Device::Kind device : {Device::Kind::kCpu, Device::Kind::kEmulatedGpu})
        test::ExpectEnginesAgree(Scan(type, Replaced(body, type).c_str()), {.device = {device}});
    }
  }
}

// Scatters of a single window, which is skipped if it is out of bounds.
TEST(UpdatesTest, ScattersOfOneWindow) {
  constexpr const char* kCombiners[] = {"ROOT r = {0}[] parameter(1)",
                                        "b = {0}[] parameter(1)\n  ROOT r = {0}[] add(a, b)",
                                        "b = {0}[] parameter(1)\n  ROOT r = {0}[] maximum(b, a)"};
  for (const char* type : {"f32", "s32", "bf16", "u8", "f64"}) {
    for (const char* combiner : kCombiners) {
      for (const Device::Kind device : {Device::Kind::kCpu, Device::Kind::kEmulatedGpu}) {
        for (int range : {3, 20}) {
          const std::string code = fmt::format(fmt::runtime(combiner), type);
          const std::string text = fmt::format(
              "put {{\n  a = {0}[] parameter(0)\n  {1}\n}}\n"
              "ENTRY main {{\n  x = {0}[6,20,30] parameter(0)\n  i = s32[2] parameter(1)\n"
              "  j = s32[1,2] parameter(2)\n  u = {0}[3,30] parameter(3)\n  v = {0}[1,20,5] parameter(4)\n"
              "  y = {0}[6,20,30] add(x, x)\n  w = {0}[3,30] multiply(u, u)\n"
              "  s = {0}[6,20,30] scatter(y, i, w), update_window_dims={{0,1}}, inserted_window_dims={{0}}, "
              "scatter_dims_to_operand_dims={{1,0}}, index_vector_dim=0, to_apply=put\n"
              "  z = {0}[1,20,5] subtract(v, v)\n  q = {0}[1,20,5] maximum(z, v)\n"
              "  t = {0}[6,20,30] scatter(s, j, q), update_window_dims={{1,2}}, inserted_window_dims={{0}}, "
              "scatter_dims_to_operand_dims={{0,2}}, index_vector_dim=1, to_apply=put\n"
              "  ROOT r = ({0}[6,20,30], {0}[1,20,5]) tuple(t, z)\n}}\n",
              type, code);
          test::ExpectEnginesAgree(text, {.index_range = range, .device = {device}});
        }
      }
    }
  }
}

// The operand is an argument and must not change.
TEST(UpdatesTest, UpdatesThatCopy) {
  test::ExpectEnginesAgree(
      "ENTRY main {\n  x = f32[100] parameter(0)\n  all = f32[7,120] parameter(1)\n  i = s32[] parameter(2)\n"
      "  t = f32[100] add(x, x)\n  row = f32[1,100] reshape(t)\n"
      "  rows = f32[7,120] dynamic-update-slice(all, row, i, i)\n"
      "  ROOT r = (f32[100], f32[7,120]) tuple(t, rows)\n}\n",
      {.index_range = 9});
}

}  // namespace
}  // namespace hlo::updates_test
