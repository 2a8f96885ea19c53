// Tests the forty instructions in the table of shape-rules section 6 (ignoring layouts; mixed precision is
// allowed).

#include "check_text.h"
#include "gtest/gtest.h"

namespace hlo::table_test {
namespace {

struct Row {
  int number;
  std::string instruction;  // Text with the operands' types in place of the operands.
  bool accepted;
};

constexpr char kAdd[] =
    "add_f32 {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT r = f32[] add(p, q)\n}\n";
constexpr char kGather[] =
    "f32[2,3] gather(f32[9,3], s32[2,1]), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes=";

// Converts "f32[2] add(f32[2], f32[2]), x=1" to a module whose parameters are the operands.
std::string ModuleOf(const std::string& instruction) {
  // A tuple type contains a parenthesis of its own.
  const size_t open = instruction.find('(', instruction[0] == '(' ? instruction.find(')') : 0);
  size_t close = open + 1;
  int depth = 0;
  std::vector<std::string> types;
  for (std::string type; depth >= 0; ++close) {
    const char ch = instruction[close];
    if (ch == '[' || ch == '{' || ch == '(') ++depth;
    if (ch == ']' || ch == '}' || ch == ')') --depth;
    if (depth < 0 || (depth == 0 && ch == ',')) {
      if (!type.empty()) types.push_back(type);
      type.clear();
    } else if (ch != ' ') {
      type += ch;
    }
  }
  std::string text = std::string("HloModule t\n") + kAdd + "ENTRY e {\n";
  std::string operands;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    text += "  " + name + " = " + types[i] + " parameter(" + std::to_string(i) + ")\n";
    operands += (i ? ", " : "") + name;
  }
  return text + "  ROOT y = " + instruction.substr(0, open + 1) + operands + instruction.substr(close - 1) +
         "\n}\n";
}

void Judge(int number, const std::string& text, bool accepted) {
  CheckedText checked;
  CheckText(text, {.check = {.strict = true}}, &checked);
  EXPECT_EQ(checked.ok, accepted) << "row " << number << "\n" << text << checked.Rendered();
}

TEST(Section6, InstructionsHaveTheVerdictsOfTheTable) {
  const Row rows[] = {
      {1, "f32[2,3] add(f32[2,3], f32[1,3])", false},
      {2, "f32[<=4] add(f32[<=4], f32[4])", true},
      {3, "f32[4] add(bf16[4], f32[4])", true},
      {3, "bf16[4] add(bf16[4], f32[4])", true},
      {4, "pred[4] compare(c64[4], c64[4]), direction=LT", true},
      {5, "pred[4] compare(u8[4], u8[4]), direction=LT, type=SIGNED", true},
      {6, "s4[3] abs(s4[3])", true},
      {6, "u4[3] abs(u4[3])", false},
      {7, "f32[5,2] select(pred[], f32[5,2], f32[5,2])", true},
      {8, "f32[5,2] select(pred[5], f32[5,2], f32[5,2])", false},
      {9, "f32[6] clamp(f32[], f32[6], f32[6])", true},
      {10, "f32[3] bitcast-convert(u8[3,4])", true},
      {10, "f32[3] bitcast-convert(u16[3,4])", false},
      {11, "s32[7] dot(s8[7,3], s8[3]), lhs_contracting_dims={1}, rhs_contracting_dims={0}", true},
      {12,
       "f32[2,4,5] dot(f32[4,2,3], f32[2,3,5]), lhs_batch_dims={1}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}",
       true},
      {13, "f32[1,8] convolution(f32[1,8], f32[8,8]), dim_labels=bf_io->bf", true},
      {14, "f32[1,1,3] convolution(f32[1,1,5], f32[1,1,3]), window={size=3}, dim_labels=bf0_oi0->bf0", true},
      {15, "f32[3] pad(f32[5], f32[]), padding=-1_-1", true},
      {16, "f32[9] pad(f32[5], f32[]), padding=0_0_1", true},
      {17, "f32[] reduce(f32[4,4], f32[]), dimensions={1,0}, to_apply=add_f32", true},
      {18, "f32[4] reduce(f32[4,4], f32[]), dimensions={1,1}, to_apply=add_f32", false},
      {19, "f32[4] reduce-window(f32[4], f32[]), window={size=2 pad=0_1}, to_apply=add_f32", true},
      {20, std::string(kGather) + "{1,3}", true},
      {21, std::string(kGather) + "{2,3}", false},
      {22, "f32[3] dynamic-slice(f32[8], s32[]), dynamic_slice_sizes={3}", true},
      {23, "f32[3] dynamic-slice(f32[8], f32[]), dynamic_slice_sizes={3}", false},
      {24, "f32[3,2] broadcast(f32[2,3]), dimensions={1,0}", true},
      {25, "f32[4,3] broadcast(f32[1,3]), dimensions={0,1}", false},
      {26, "f32[6] concatenate(f32[2], f32[4]), dimensions={0}", true},
      {27, "c64[4] fft(f32[6]), fft_type=RFFT, fft_length={6}", true},
      {28, "f32[7] fft(c64[4]), fft_type=IRFFT, fft_length={7}", true},
      {29, "(f32[2,3], s32[2,3]) topk(f32[2,8]), k=3, largest=true", true},
      {30, "pred[4] iota(), iota_dimension=0", false},
      {31, "f32[8] all-gather(f32[2]), dimensions={0}, replica_groups={{0,1,2,3}}", true},
      {32, "f32[8] all-gather(f32[2]), dimensions={0}, replica_groups={{0,1},{2,3}}", false},
      {33, "f32[4] all-reduce(f32[4]), replica_groups={{0},{1,2}}, to_apply=add_f32", true},
      {34, "f32[4] collective-permute(f32[4]), source_target_pairs={{0,1},{0,2}}", false},
      {35, "s32[] get-dimension-size(f32[<=4]), dimensions={0}", true},
  };
  for (const Row& row : rows) Judge(row.number, ModuleOf(row.instruction), row.accepted);
}

TEST(Section6, CallersAndCalleesHaveTheVerdictsOfTheTable) {
  Judge(36, R"(HloModule t
cond { p = (s32[], f32[4]) parameter(0)
  ROOT r = pred[] constant(false) }
body { p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[3] constant({1, 2, 3})
  ROOT r = (s32[], f32[3]) tuple(i, x) }
ENTRY e { a = (s32[], f32[4]) parameter(0)
  ROOT w = (s32[], f32[4]) while(a), condition=cond, body=body }
)",
        false);
  const std::string branch = "b { p = f32[] parameter(0)\n  ROOT r = f32[] negate(p) }\n";
  Judge(37, "HloModule t\n" + branch + R"(ENTRY e { i = s32[] parameter(0)
  x = f32[] parameter(1)
  ROOT c = f32[] conditional(i, x), branch_computations={b} }
)",
        true);
  Judge(38, "HloModule t\n" + branch + R"(ENTRY e { i = pred[] parameter(0)
  x = f32[] parameter(1)
  ROOT c = f32[] conditional(i, x, x, x), branch_computations={b, b, b} }
)",
        false);
  Judge(39, R"(HloModule t
f { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] negate(p) }
ENTRY e { x = f32[] parameter(0)
  ROOT y = f32[] fusion(x, x), kind=kLoop, calls=f }
)",
        false);
  Judge(40, R"(HloModule t
f { x = f32[] parameter(0)
  ROOT y = f32[] negate(x) }
ENTRY e { x = f32[] parameter(0)
  ROOT y = f32[] call(x), to_apply=f }
)",
        true);
}

}  // namespace
}  // namespace hlo::table_test
