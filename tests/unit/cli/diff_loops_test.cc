// Tests `hlo-run diff` on loops whose states a pass has changed.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using Json = nlohmann::json;

// A layer that a loop applies five times; `s` counts and sums.
constexpr char kLayers[] = R"(HloModule m
body {
  state = (s32[], f32[2,2], f32[2,2], f32[2,2]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = f32[2,2] get-tuple-element(state), index=1
  w = f32[2,2] get-tuple-element(state), index=2
  s = f32[2,2] get-tuple-element(state), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  wt = f32[2,2] transpose(w), dimensions={1,0}, metadata={op_name="layer/transpose"}
  product = f32[2,2] dot(v, wt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[2,2] tanh(product)
  sum = f32[2,2] add(s, h)
  ROOT result = (s32[], f32[2,2], f32[2,2], f32[2,2]) tuple(next, h, w, sum)
}
condition {
  state = (s32[], f32[2,2], f32[2,2], f32[2,2]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[2,2] parameter(0)
  weights = f32[2,2] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[2,2], f32[2,2], f32[2,2]) tuple(zero, x, weights, x)
  loop = (s32[], f32[2,2], f32[2,2], f32[2,2]) while(init), condition=condition, body=body
  final = f32[2,2] get-tuple-element(loop), index=1
  total = f32[2,2] get-tuple-element(loop), index=3
  ROOT r = f32[2,2] subtract(total, final)
}
)";

// The same loop after passes: other names, the elements in another order, a new counter, and the transpose
// moved out of the loop. The texts in braces are what bugs change.
constexpr char kChanged[] = R"(HloModule m
wide.body {
  p = (f32[2,2], s32[], f32[2,2], f32[2,2], s32[]) parameter(0)
  p0 = f32[2,2] get-tuple-element(p), index=0
  p1 = s32[] get-tuple-element(p), index=1
  p2 = f32[2,2] get-tuple-element(p), index=2
  p3 = f32[2,2] get-tuple-element(p), index=3
  p4 = s32[] get-tuple-element(p), index=4
  k1 = s32[] constant(1)
  k2 = s32[] constant(2)
  k3 = s32[] constant(3)
  a1 = s32[] add(p1, k1)
  a4 = s32[] add(p4, k2)
  d = f32[2,2] dot(p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[2,2] {function}(d)
  late = pred[] compare(a1, k3), direction=GT
  u = f32[2,2] add(p0, {addend})
  ROOT q = (f32[2,2], s32[], f32[2,2], f32[2,2], s32[]) tuple(u, a1, t, p3, a4)
}
wide.condition {
  p = (f32[2,2], s32[], f32[2,2], f32[2,2], s32[]) parameter(0)
  p4 = s32[] get-tuple-element(p), index=4
  k = s32[] constant({limit})
  ROOT c = pred[] compare(p4, k), direction=LT
}
ENTRY e {
  x = f32[2,2] parameter(0)
  weights = f32[2,2] parameter(1)
  z = s32[] constant(0)
  moved = f32[2,2] transpose({source}), dimensions={1,0}, metadata={op_name="layer/transpose"}
  j = (f32[2,2], s32[], f32[2,2], f32[2,2], s32[]) tuple(x, z, x, moved, z)
  l = (f32[2,2], s32[], f32[2,2], f32[2,2], s32[]) while(j), condition=wide.condition, body=wide.body
  f = f32[2,2] get-tuple-element(l), index=2
  g = f32[2,2] get-tuple-element(l), index=0
  ROOT r = f32[2,2] subtract(g, f)
}
)";
constexpr char kMatrices[] =
    " --input 'f32[2,2]{{0.5,-0.25},{1,0.125}}' --input 'f32[2,2]{{1,2},{-0.5,0.75}}'";

struct Changes {
  std::string function = "tanh", addend = "t", limit = "10", source = "weights";
};

// Returns a loop that applies the sine so many times.
std::string SineLoop(int64_t iterations) {
  constexpr char kText[] = R"(HloModule m
body {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[2] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  h = f32[2] sine(v)
  ROOT t = (s32[], f32[2]) tuple(next, h)
}
condition {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant({iterations})
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[2] parameter(0)
  z = s32[] constant(0)
  init = (s32[], f32[2]) tuple(z, x)
  loop = (s32[], f32[2]) while(init), condition=condition, body=body
  v = f32[2] get-tuple-element(loop), index=1
  ROOT r = f32[2] negate(v)
}
)";
  return absl::StrReplaceAll(kText, {{"{iterations}", absl::StrCat(iterations)}});
}

class DiffLoops : public Cli {
 protected:
  Outcome Diff(const std::string& a, const std::string& b, const std::string& inputs) {
    return Run("diff --format=json " + Write("a.hlo", a) + " " + Write("b.hlo", b) + inputs);
  }
  Json FirstOf(const std::string& a, const std::string& b, const std::string& inputs) {
    const Outcome diff = Diff(a, b, inputs);
    EXPECT_EQ(diff.status, 1) << diff.err;
    return Json::parse(diff.out)["diff"]["first"];
  }
  Json FirstOf(const Changes& changes) { return FirstOf(kLayers, Changed(changes), kMatrices); }
  static std::string Changed(const Changes& changes) {
    return absl::StrReplaceAll(kChanged, {{"{function}", changes.function},
                                          {"{addend}", changes.addend},
                                          {"{limit}", changes.limit},
                                          {"{source}", changes.source}});
  }
};

TEST_F(DiffLoops, AChangedStateIsNoDifference) {
  const Outcome diff = Diff(kLayers, Changed({}), kMatrices);
  EXPECT_EQ(diff.status, 0) << diff.out << diff.err;
}

TEST_F(DiffLoops, FindsAChangedOpcodeInALoopWithAnotherState) {
  const Json first = FirstOf(Changes{.function = "sine"});
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "h");
  EXPECT_EQ(first["value"]["b"], "t");
  EXPECT_EQ(first["confirmed"], true);
  ASSERT_EQ(first["operands"].size(), 2u);
  EXPECT_EQ(first["operands"][0]["a"], "v");
  EXPECT_EQ(first["operands"][0]["b"], "p2");
  EXPECT_EQ(first["operands"][1]["a"], "wt");
  EXPECT_EQ(first["operands"][1]["b"], "moved");
}

TEST_F(DiffLoops, FindsAWrongOperandInALoopWithAnotherState) {
  const Json first = FirstOf(Changes{.addend = "p2"});
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "sum");
  EXPECT_EQ(first["value"]["b"], "u");
}

// The element that holds the moved value has no counterpart, but stands for what the body of the first loop
// computes.
TEST_F(DiffLoops, FindsAWrongValueThatAPassMovedOutOfALoop) {
  const Json first = FirstOf(Changes{.source = "x"});
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "wt");
  EXPECT_EQ(first["value"]["b"], "moved");
}

TEST_F(DiffLoops, FindsAWrongConditionOnACounterOfItsOwn) {
  const Json first = FirstOf(Changes{.limit = "6"});
  EXPECT_EQ(first["inside"], Json({"the condition before iteration 4 of loop"}));
  EXPECT_EQ(first["confirmed"], true);
}

// The first iteration that differs is the fourth, from the state that the first module has there.
TEST_F(DiffLoops, FindsALateIterationOfALoopWithAnotherState) {
  std::string changed = Changed({.addend = "y"});
  changed.insert(changed.find("  u = "),
                 "  lates = pred[2,2] broadcast(late), dimensions={}\n"
                 "  y = f32[2,2] select(lates, p2, t)\n");
  const Json first = FirstOf(kLayers, changed, kMatrices);
  EXPECT_EQ(first["inside"], Json({"iteration 4 of loop"}));
  EXPECT_EQ(first["value"]["a"], "sum");
}

// The states have the same type. Sums are associated differently, so that rounding errors accumulate.
TEST_F(DiffLoops, ExchangedElementsOfOneShapeAreNoDifference) {
  constexpr char kText[] = R"(HloModule m
body {
  state = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = f32[4] get-tuple-element(state), index={v}
  w = f32[4] get-tuple-element(state), index={w}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  c = f32[] constant(0.0123)
  k = f32[4] broadcast(c), dimensions={}
  p = f32[4] sine(w)
  q = f32[4] {function}(v)
{sums}  ROOT t = (s32[], f32[4], f32[4]) tuple(next, {order})
}
condition {
  state = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(300)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[4], f32[4]) tuple(zero, {start})
  loop = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
  a = f32[4] get-tuple-element(loop), index={v}
  b = f32[4] get-tuple-element(loop), index={w}
  ROOT r = f32[4] subtract(a, b)
}
)";
  const std::string before = absl::StrReplaceAll(
      kText, {{"{v}", "1"},
              {"{w}", "2"},
              {"{function}", "cosine"},
              {"{order}", "vn, wn"},
              {"{start}", "x, y"},
              {"{sums}",
               "  vp = f32[4] add(v, p)\n  vn = f32[4] add(vp, k)\n  wq = f32[4] add(w, q)\n"
               "  wn = f32[4] add(wq, k)\n"}});
  const auto after = [&](const char* function) {
    return absl::StrReplaceAll(
        kText, {{"{v}", "2"},
                {"{w}", "1"},
                {"{function}", function},
                {"{order}", "wn, vn"},
                {"{start}", "y, x"},
                {"{sums}",
                 "  pk = f32[4] add(p, k)\n  vn = f32[4] add(v, pk)\n  qk = f32[4] add(q, k)\n"
                 "  wn = f32[4] add(w, qk)\n"}});
  };
  constexpr char kArguments[] = " --random 1 --tolerance 'within abs 1e-6 rel 1e-6'";
  const Json drift = FirstOf(before, after("cosine"), kArguments);
  EXPECT_EQ(drift["confirmed"], false) << drift;
  const Json bug = FirstOf(before, after("sine"), kArguments);
  EXPECT_EQ(bug["confirmed"], true);
  EXPECT_EQ(bug["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(bug["value"]["a"], "wn");  // The sums before it are other ones.
}

// The inner loop of the first module has a nested tuple.
constexpr char kNestedLoops[] = R"(HloModule m
inner {
  p = (s32[], (f32[3], f32[3])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  pair = (f32[3], f32[3]) get-tuple-element(p), index=1
  x = f32[3] get-tuple-element(pair), index=0
  y = f32[3] get-tuple-element(pair), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sine = f32[3] sine(x)
  scaled = f32[3] multiply(sine, y)
  news = (f32[3], f32[3]) tuple(scaled, sine)
  ROOT r = (s32[], (f32[3], f32[3])) tuple(next, news)
}
few {
  p = (s32[], (f32[3], f32[3])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT c = pred[] compare(i, n), direction=LT
}
outer {
  p = (s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[3] get-tuple-element(p), index=1
  y = f32[3] get-tuple-element(p), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  both = (f32[3], f32[3]) tuple(x, y)
  init = (s32[], (f32[3], f32[3])) tuple(zero, both)
  inside = (s32[], (f32[3], f32[3])) while(init), condition=few, body=inner
  pair = (f32[3], f32[3]) get-tuple-element(inside), index=1
  u = f32[3] get-tuple-element(pair), index=0
  v = f32[3] get-tuple-element(pair), index=1
  w = f32[3] add(u, y)
  ROOT r = (s32[], f32[3], f32[3]) tuple(next, w, v)
}
some {
  p = (s32[], f32[3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[3], f32[3]) tuple(zero, x, y)
  outside = (s32[], f32[3], f32[3]) while(init), condition=some, body=outer
  ROOT r = f32[3] get-tuple-element(outside), index=1
}
)";
constexpr char kFlattened[] = R"(HloModule m
inner.flat {
  p = (f32[3], f32[3], s32[]) parameter(0)
  g0 = f32[3] get-tuple-element(p), index=0
  g1 = f32[3] get-tuple-element(p), index=1
  g2 = s32[] get-tuple-element(p), index=2
  k = s32[] constant(1)
  a = s32[] add(g2, k)
  m1 = f32[3] {inner}(g1)
  m2 = f32[3] multiply(m1, g0)
  ROOT r = (f32[3], f32[3], s32[]) tuple(m1, m2, a)
}
few.flat {
  p = (f32[3], f32[3], s32[]) parameter(0)
  g2 = s32[] get-tuple-element(p), index=2
  k = s32[] constant(2)
  ROOT c = pred[] compare(g2, k), direction=LT
}
outer.flat {
  p = (f32[3], f32[3], s32[]) parameter(0)
  h0 = f32[3] get-tuple-element(p), index=0
  h1 = f32[3] get-tuple-element(p), index=1
  h2 = s32[] get-tuple-element(p), index=2
  k = s32[] constant(1)
  z = s32[] constant(0)
  b = s32[] add(h2, k)
  i = (f32[3], f32[3], s32[]) tuple(h1, h0, z)
  n = (f32[3], f32[3], s32[]) while(i), condition=few.flat, body=inner.flat
  n0 = f32[3] get-tuple-element(n), index=0
  n1 = f32[3] get-tuple-element(n), index=1
  o = f32[3] {outer}(n1, h1)
  ROOT r = (f32[3], f32[3], s32[]) tuple(o, n0, b)
}
some.flat {
  p = (f32[3], f32[3], s32[]) parameter(0)
  h2 = s32[] get-tuple-element(p), index=2
  k = s32[] constant(3)
  ROOT c = pred[] compare(h2, k), direction=LT
}
ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  z = s32[] constant(0)
  i = (f32[3], f32[3], s32[]) tuple(x, y, z)
  m = (f32[3], f32[3], s32[]) while(i), condition=some.flat, body=outer.flat
  ROOT r = f32[3] get-tuple-element(m), index=0
}
)";
constexpr char kNestedArguments[] = " --input 'f32[3]{0.5,1,2}' --input 'f32[3]{1.5,-2,0.75}'";

TEST_F(DiffLoops, DescendsIntoNestedLoopsWithOtherStates) {
  const auto flattened = [](const char* inner, const char* outer) {
    return absl::StrReplaceAll(kFlattened, {{"{inner}", inner}, {"{outer}", outer}});
  };
  EXPECT_EQ(Diff(kNestedLoops, flattened("sine", "add"), kNestedArguments).status, 0);
  const Json inner = FirstOf(kNestedLoops, flattened("cosine", "add"), kNestedArguments);
  EXPECT_EQ(inner["inside"], Json({"iteration 1 of outside", "iteration 1 of inside"}));
  EXPECT_EQ(inner["value"]["a"], "sine");
  EXPECT_EQ(inner["value"]["b"], "m1");
  const Json outer = FirstOf(kNestedLoops, flattened("sine", "subtract"), kNestedArguments);
  EXPECT_EQ(outer["inside"], Json({"iteration 1 of outside"}));
  EXPECT_EQ(outer["value"]["a"], "w");
  EXPECT_EQ(outer["value"]["b"], "o");
}

// The second module has peeled the first iteration.
TEST_F(DiffLoops, FindsADifferenceInAPeeledLoop) {
  constexpr char kText[] = R"(HloModule m
body {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[2] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  h = f32[2] %s(v)
  u = f32[2] add(h, v)
  ROOT t = (s32[], f32[2]) tuple(next, u)
}
condition {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(6)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[2] parameter(0)
%s  loop = (s32[], f32[2]) while(init), condition=condition, body=body
  ROOT r = f32[2] get-tuple-element(loop), index=1
}
)";
  const auto text = [&](const char* function, const char* init) {
    std::string text = kText;
    text.replace(text.find("%s"), 2, function);
    return text.replace(text.find("%s"), 2, init);
  };
  const std::string whole = text("sine", " z = s32[] constant(0)\n init = (s32[], f32[2]) tuple(z, x)\n");
  const auto peeled = [&](const char* function) {
    return text(function,
                " o = s32[] constant(1)\n h = f32[2] sine(x)\n u = f32[2] add(h, x)\n"
                " init = (s32[], f32[2]) tuple(o, u)\n");
  };
  constexpr char kInput[] = " --input 'f32[2]{0.25,1}'";
  EXPECT_EQ(Diff(whole, peeled("sine"), kInput).status, 0);
  const Json first = FirstOf(whole, peeled("cosine"), kInput);
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "h");
  const Json start =
      FirstOf(whole, text("sine", " k = s32[] constant(2)\n init = (s32[], f32[2]) tuple(k, x)\n"), kInput);
  EXPECT_HAS(start["note"].get<std::string>(), "each iteration agrees with equal states, but element 0");
}

// The second iteration computes another function.
TEST_F(DiffLoops, FindsTheIterationOfALoopThatTheOtherModuleHasUnrolled) {
  constexpr char kUnrolled[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] sine(x)
  b = f32[2] cosine(a)
  ROOT r = f32[2] negate(b)
}
)";
  constexpr char kInput[] = " --input 'f32[2]{0.25,1}'";
  const std::string rolled = SineLoop(2);
  const Json first = FirstOf(rolled, kUnrolled, kInput), swapped = FirstOf(kUnrolled, rolled, kInput);
  EXPECT_EQ(first["value"]["a"], "loop[2]/h");
  EXPECT_EQ(first["value"]["b"], "b");
  EXPECT_EQ(first["operands"][0]["a"], "loop[1]/h");
  EXPECT_EQ(swapped["value"]["a"], "b");
  EXPECT_EQ(swapped["value"]["b"], "loop[2]/h");
  EXPECT_EQ(Diff(rolled, absl::StrReplaceAll(kUnrolled, {{"cosine", "sine"}}), kInput).status, 0);
}

// The loop of `f` has two iterations in its first call, then one and two in the iterations of `outer`.
TEST_F(DiffLoops, UnrollsALoopOnlyInExaminedCalls) {
  constexpr char kRolled[] = R"(HloModule m
body {
  p = (s32[], f32[2], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[2] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  h = f32[2] sine(v)
  ROOT t = (s32[], f32[2], s32[]) tuple(next, h, n)
}
condition {
  p = (s32[], f32[2], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2
  ROOT l = pred[] compare(i, n), direction=LT
}
f {
  x = f32[2] parameter(0)
  n = s32[] parameter(1)
  z = s32[] constant(0)
  init = (s32[], f32[2], s32[]) tuple(z, x, n)
  loop = (s32[], f32[2], s32[]) while(init), condition=condition, body=body
  ROOT v = f32[2] get-tuple-element(loop), index=1
}
outer_body {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[2] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  h = f32[2] call(v, next), to_apply=f
  ROOT t = (s32[], f32[2]) tuple(next, h)
}
outer_condition {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[2] parameter(0)
  two = s32[] constant(2)
  a = f32[2] call(x, two), to_apply=f
  z = s32[] constant(0)
  init = (s32[], f32[2]) tuple(z, a)
  outer = (s32[], f32[2]) while(init), condition=outer_condition, body=outer_body
  v = f32[2] get-tuple-element(outer), index=1
  ROOT r = f32[2] cosine(v)
}
)";
  constexpr char kUnrolled[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] sine(x)
  b = f32[2] sine(a)
  c = f32[2] sine(b)
  d = f32[2] sine(c)
  g = f32[2] sine(d)
  ROOT r = f32[2] tan(g)
}
)";
  constexpr char kInput[] = " --input 'f32[2]{0.25,1}'";
  const Json diff = Json::parse(Diff(kRolled, kUnrolled, kInput).out)["diff"];
  EXPECT_EQ(diff["first"]["value"]["a"], "r");
  EXPECT_EQ(diff["first"]["value"]["a_value"], diff["results"][0]["a_value"]);
}

TEST_F(DiffLoops, NamesALoopThatIsTooLongToUnroll) {
  constexpr char kOther[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  b = f32[2] cosine(x)
  ROOT r = f32[2] negate(b)
}
)";
  EXPECT_EQ(
      FirstOf(SineLoop(20000), kOther, " --input 'f32[2]{0.25,1}'")["note"],
      "with equal operands, both compute different values; the loop loop above them is only in the first "
      "module, so that its iterations are not searched");
}

// A pass widened a state from bf16 to f32, and a counter to s64.
TEST_F(DiffLoops, DescendsIntoALoopWithAWiderState) {
  constexpr char kNarrow[] = R"(HloModule m
body {
  p = (s32[], bf16[4], bf16[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = bf16[4] get-tuple-element(p), index=1
  y = bf16[4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  product = bf16[4] multiply(v, y)
  h = bf16[4] tanh(product)
  ROOT t = (s32[], bf16[4], bf16[4]) tuple(next, h, y)
}
condition {
  p = (s32[], bf16[4], bf16[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = bf16[4] parameter(0)
  y = bf16[4] parameter(1)
  z = s32[] constant(0)
  init = (s32[], bf16[4], bf16[4]) tuple(z, x, y)
  loop = (s32[], bf16[4], bf16[4]) while(init), condition=condition, body=body
  ROOT r = bf16[4] get-tuple-element(loop), index=1
}
)";
  constexpr char kWide[] = R"(HloModule m
wide.body {
  s = (s64[], f32[4], f32[4]) parameter(0)
  e0 = s64[] get-tuple-element(s), index=0
  e1 = f32[4] get-tuple-element(s), index=1
  e2 = f32[4] get-tuple-element(s), index=2
  k = s64[] constant(1)
  a = s64[] add(e0, k)
  m = f32[4] {product}(e1, e2)
  f = f32[4] tanh(m)
  ROOT q = (s64[], f32[4], f32[4]) tuple(a, f, e2)
}
wide.condition {
  s = (s64[], f32[4], f32[4]) parameter(0)
  e0 = s64[] get-tuple-element(s), index=0
  k = s64[] constant({limit})
  ROOT c = pred[] compare(e0, k), direction=LT
}
ENTRY e {
  x = bf16[4] parameter(0)
  y = bf16[4] parameter(1)
  xw = f32[4] convert(x)
  yw = f32[4] convert(y)
  zero = s64[] constant(0)
  j = (s64[], f32[4], f32[4]) tuple(zero, xw, yw)
  w = (s64[], f32[4], f32[4]) while(j), condition=wide.condition, body=wide.body
  g = f32[4] get-tuple-element(w), index=1
  ROOT o = bf16[4] convert(g)
}
)";
  constexpr char kInput[] = " --input 'bf16[4]{0.3,0.7,1.1,-0.9}' --input 'bf16[4]{0.9,1.3,-1.7,0.6}'";
  const auto wide = [&](const char* product, const char* limit) {
    return absl::StrReplaceAll(kWide, {{"{product}", product}, {"{limit}", limit}});
  };
  EXPECT_EQ(Diff(kNarrow, wide("multiply", "3"), kInput).status, 0);
  const Json first = FirstOf(kNarrow, wide("add", "3"), kInput);
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "product");
  EXPECT_EQ(first["value"]["b"], "m");
  const Json limit = FirstOf(kNarrow, wide("multiply", "4"), kInput);
  EXPECT_EQ(limit["inside"], Json({"the condition before iteration 4 of loop"}));
  // The wider state may also be that of the first module.
  EXPECT_EQ(FirstOf(wide("add", "3"), kNarrow, kInput)["value"]["b"], "product");
}

// One loop no longer changes an element that is a result.
TEST_F(DiffLoops, AnElementThatOneLoopNoLongerChangesIsNotRounding) {
  constexpr char kSum[] = R"(HloModule m
body {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  s = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  v = f32[] convert(next)
  sum = f32[] add(s, v)
  ROOT t = (s32[], f32[]) tuple(next, %s)
}
condition {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  x = f32[] parameter(0)
  init = (s32[], f32[]) tuple(z, x)
  loop = (s32[], f32[]) while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(loop), index=1
}
)";
  const Json first = FirstOf(absl::StrReplaceAll(kSum, {{"%s", "sum"}}),
                             absl::StrReplaceAll(kSum, {{"%s", "s"}}), " --input 'f32[] 0.5'");
  EXPECT_EQ(first["confirmed"], true);
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "sum");
}

// A pass replaced the second of two equal counters, which is no longer changed, by the first. The sums have
// another order.
TEST_F(DiffLoops, ACounterThatOneLoopNoLongerChangesIsNoDifference) {
  constexpr char kLoop[] = R"(HloModule m
body {
  p = (s32[], s32[], f32[3], f32[8,3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  k = s32[] get-tuple-element(p), index=1
  v = f32[3] get-tuple-element(p), index=2
  w = f32[8,3] get-tuple-element(p), index=3
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  count = s32[] add(k, one)
  row = f32[1,3] dynamic-slice(w, %s, zero), dynamic_slice_sizes={1,3}
  flat = f32[3] reshape(row)
  c = f32[3] constant({0.1,0.7,0.3})
  %s
  ROOT t = (s32[], s32[], f32[3], f32[8,3]) tuple(next, %s, sum, w)
}
condition {
  p = (s32[], s32[], f32[3], f32[8,3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(8)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = f32[3] parameter(0)
  w = f32[8,3] parameter(1)
  z = s32[] constant(0)
  init = (s32[], s32[], f32[3], f32[8,3]) tuple(z, z, x, w)
  ROOT loop = (s32[], s32[], f32[3], f32[8,3]) while(init), condition=condition, body=body
}
)";
  const auto loop = [&](const char* index, const char* sum, const char* count) {
    std::string text = kLoop;
    for (const char* part : {index, sum, count}) text.replace(text.find("%s"), 2, part);
    return absl::StrReplaceAll(
        text, {{"ROOT loop =", "loop ="},
               {"body=body\n", "body=body\n  ROOT r = f32[3] get-tuple-element(loop), index=2\n"}});
  };
  const std::string before = loop("k", "a = f32[3] add(v, flat)\n  sum = f32[3] add(a, c)", "count");
  const std::string after = loop("i", "a = f32[3] add(flat, c)\n  sum = f32[3] add(v, a)", "k");
  EXPECT_EQ(Diff(before, after, " --random 1").status, 0);
  EXPECT_EQ(Diff(after, before, " --random 1").status, 0);
}

// A pass inlined the branches and selects between their results.
TEST_F(DiffLoops, FindsADifferenceInABranchThatASelectReplaces) {
  constexpr char kBranches[] = R"(HloModule m
yes { p = f32[2] parameter(0)  q = f32[2] sine(p)  ROOT e = f32[2] exponential(q) }
no { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }
ENTRY e {
  c = pred[] parameter(0)
  x = f32[2] parameter(1)
  branched = f32[2] conditional(c, x, x), true_computation=yes, false_computation=no
  ROOT r = f32[2] multiply(branched, x)
}
)";
  constexpr char kSelect[] = R"(HloModule m
ENTRY e {
  c = pred[] parameter(0)
  x = f32[2] parameter(1)
  u = f32[2] %s(x)
  v = f32[2] exponential(u)
  w = f32[2] negate(x)
  b = pred[2] broadcast(c), dimensions={}
  s = f32[2] select(b, v, w)
  ROOT r = f32[2] multiply(s, x)
}
)";
  constexpr char kInput[] = " --input true --input 'f32[2]{0.25,1}'";
  EXPECT_EQ(Diff(kBranches, absl::StrReplaceAll(kSelect, {{"%s", "sine"}}), kInput).status, 0);
  const Json first = FirstOf(kBranches, absl::StrReplaceAll(kSelect, {{"%s", "tanh"}}), kInput);
  EXPECT_EQ(first["confirmed"], true);
  EXPECT_EQ(first["value"]["a"], "branched[0]/q");
  EXPECT_EQ(first["value"]["b"], "u");
}

// One branch has another operand and returns a tuple.
TEST_F(DiffLoops, DescendsIntoBranchesWithOtherOperands) {
  constexpr char kBefore[] = R"(HloModule m
yes { p = (f32[2], f32[2]) parameter(0)
  x = f32[2] get-tuple-element(p), index=0
  y = f32[2] get-tuple-element(p), index=1
  s = f32[2] sine(x)
  ROOT a = f32[2] add(s, y)
}
no { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }
ENTRY e {
  c = pred[] parameter(0)
  x = f32[2] parameter(1)
  y = f32[2] parameter(2)
  t = (f32[2], f32[2]) tuple(x, y)
  branched = f32[2] conditional(c, t, x), true_computation=yes, false_computation=no
  ROOT r = f32[2] multiply(branched, y)
}
)";
  constexpr char kAfter[] = R"(HloModule m
yes { p = (f32[2], s32[], f32[2]) parameter(0)
  y = f32[2] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=2
  q = f32[2] %s(x)
  w = f32[2] add(q, y)
  ROOT z = (f32[2]) tuple(w)
}
no { p = f32[2] parameter(0)  n = f32[2] negate(p) ROOT z = (f32[2]) tuple(n) }
ENTRY e {
  c = pred[] parameter(0)
  x = f32[2] parameter(1)
  y = f32[2] parameter(2)
  k = s32[] constant(7)
  t = (f32[2], s32[], f32[2]) tuple(y, k, x)
  cond = (f32[2]) conditional(c, t, x), true_computation=yes, false_computation=no
  g = f32[2] get-tuple-element(cond), index=0
  ROOT r = f32[2] multiply(g, y)
}
)";
  constexpr char kValues[] = " --input true --input 'f32[2]{0.25,1}' --input 'f32[2]{3,-2}'";
  EXPECT_EQ(Diff(kBefore, absl::StrReplaceAll(kAfter, {{"%s", "sine"}}), kValues).status, 0);
  const Json first = FirstOf(kBefore, absl::StrReplaceAll(kAfter, {{"%s", "cosine"}}), kValues);
  EXPECT_EQ(first["inside"], Json({"branch 0 of branched"}));
  EXPECT_EQ(first["value"]["a"], "s");
  EXPECT_EQ(first["value"]["b"], "q");
}

// Every iteration rounds to f16, an error that only accumulates beyond the tolerance.
TEST_F(DiffLoops, FindsARoundingThatEachIterationTolerates) {
  constexpr char kText[] = R"(HloModule m
body {
  p = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  s = f32[2] get-tuple-element(p), index=1
  y = f32[2] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  narrow = f16[2] convert(y)
  wide = f32[2] convert(narrow)
  u = f32[2] add(s, %s)
  ROOT t = (s32[], f32[2], f32[2]) tuple(next, u, y)
}
condition {
  p = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(100)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  y = f32[2] parameter(0)
  z = s32[] constant(0)
  init = (s32[], f32[2], f32[2]) tuple(z, y, y)
  loop = (s32[], f32[2], f32[2]) while(init), condition=condition, body=body
  ROOT r = f32[2] get-tuple-element(loop), index=1
}
)";
  const Json first =
      FirstOf(absl::StrReplaceAll(kText, {{"%s", "y"}}), absl::StrReplaceAll(kText, {{"%s", "wide"}}),
              " --input 'f32[2]{0.05003357,0.05}'");
  EXPECT_EQ(first["confirmed"], true);
  EXPECT_EQ(first["inside"], Json({"iteration 1 of loop"}));
  EXPECT_EQ(first["value"]["a"], "u");
}

}  // namespace
}  // namespace hlo::cli_test
