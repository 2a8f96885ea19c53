// Tests loops through both engines: loops of the module over few elements, which the fast engine compiles to
// bytecode, and loops over many elements.

#include <array>

#include "absl/strings/str_join.h"
#include "engines.h"
#include "fmt/format.h"
#include "kernels/cpu/loops/native_loop.h"

namespace hlo::loops_test {
namespace {

// Generates loops of random operations on a state of random types.
class LoopWriter {
 public:
  explicit LoopWriter(uint32_t seed) : random_(seed) {}

  std::string Write() {
    const int state_count = 2 + Below(5);
    std::vector<std::string> declared, values, parameters;
    for (int k = 0; k < state_count; ++k) state_.push_back(Type());
    for (int k = 0; k < state_count; ++k) {
      declared.push_back(state_[k]);
      values.push_back(fmt::format("p{}", k));
      parameters.push_back(fmt::format("  p{} = {} parameter({})\n", k, state_[k], k));
    }
    const std::string tuple = fmt::format("(s32[], f32[9,3], s64[7], {})", absl::StrJoin(declared, ", "));
    std::string text = Regions();
    text += fmt::format(
        "below {{\n  t = {0} parameter(0)\n  n = s32[] get-tuple-element(t), index=0\n  limit = s32[] "
        "constant({1})\n  ROOT c = pred[] compare(n, limit), direction=LT\n}}\n",
        tuple, Below(9));
    text += Body(tuple);
    text += fmt::format(
        "ENTRY main {{\n{}  table = f32[9,3] parameter({})\n  bins = s64[7] parameter({})\n  zero = s32[] "
        "constant(0)\n  t = {} tuple(zero, table, bins, {})\n  ROOT w = {} while(t), condition=below, "
        "body=step\n}}\n",
        absl::StrJoin(parameters, ""), state_count, state_count + 1, tuple, absl::StrJoin(values, ", "),
        tuple);
    return text;
  }

 private:
  struct Value {
    std::string name, type;
  };
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  template <size_t kSize>
  const char* One(const char* const (&list)[kSize]) {
    return list[Below(kSize)];
  }
  std::string Type() {
    return fmt::format(
        "{}{}", One({"f32", "f32", "f64", "s32", "s64", "u32", "u64", "pred", "bf16", "s8", "c64", "s4"}),
        One({"[]", "[]", "[]", "[3]", "[2,4]"}));
  }
  static std::string ElementOf(const std::string& type) { return type.substr(0, type.find('[')); }
  static std::string DimsOf(const std::string& type) { return type.substr(type.find('[')); }

  static std::string Regions() {
    return "put {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n"
           "sum {\n  a = s64[] parameter(0)\n  b = s64[] parameter(1)\n  ROOT c = s64[] add(a, b)\n}\n"
           "first {\n  t = (f32[], s32[]) parameter(0)\n  a = f32[] get-tuple-element(t), index=0\n  ROOT r "
           "= "
           "f32[] negate(a)\n}\n"
           "second {\n  t = (f32[], s32[]) parameter(0)\n  n = s32[] get-tuple-element(t), index=1\n  ROOT r "
           "= "
           "f32[] convert(n)\n}\n";
  }

  std::string New(const std::string& type, const std::string& operation) {
    const std::string name = fmt::format("v{}", next_name_++);
    lines_ += fmt::format("  {} = {} {}\n", name, type, operation);
    values_.push_back({name, type});
    return name;
  }
  // Returns a value of the type, possibly from an earlier instruction.
  std::string Pick(const std::string& type) {
    std::vector<std::string> fit;
    for (const Value& value : values_) {
      if (value.type == type) fit.push_back(value.name);
    }
    return fit.empty() ? "" : fit[static_cast<size_t>(Below(static_cast<int>(fit.size())))];
  }

  void AddOperation() {
    const std::string type = values_[static_cast<size_t>(Below(static_cast<int>(values_.size())))].type;
    const std::string element = ElementOf(type), dims = DimsOf(type), a = Pick(type), b = Pick(type);
    const bool is_pred = element == "pred", is_complex = element[0] == 'c';
    const bool is_float = element[0] == 'f' || element == "bf16";
    switch (Below(9)) {
      case 8:
        if (dims == "[]")
          New(element + One({"[3]", "[2,4]"}), fmt::format("broadcast({}), dimensions={{}}", a));
        if (type == "f32[3]")
          New("f32[]",
              fmt::format("dot({}, {}), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}", a, b));
        return;
      case 0: {
        if (is_complex) return;
        New("pred" + dims,
            fmt::format("compare({}, {}), direction={}", a, b, One({"EQ", "NE", "GE", "GT", "LE", "LT"})));
        return;
      }
      case 1: {
        const std::string p = Pick("pred" + dims);
        if (!p.empty()) New(type, fmt::format("select({}, {}, {})", p, a, b));
        return;
      }
      case 2: {
        const std::string to = One({"f32", "f64", "s32", "s64", "u32", "bf16", "s8"});
        if (!is_complex) New(to + dims, fmt::format("convert({})", a));
        return;
      }
      case 3:
        if (is_pred)
          New(type, fmt::format("not({})", a));
        else
          New(type, fmt::format("{}({})", is_float ? One({"negate", "abs", "sqrt"}) : "negate", a));
        return;
      default:
        break;
    }
    if (is_pred)
      New(type, fmt::format("{}({}, {})", One({"and", "or", "xor"}), a, b));
    else if (is_complex)
      New(type, fmt::format("{}({}, {})", One({"add", "subtract"}), a, b));
    else if (is_float)
      New(type, fmt::format("{}({}, {})",
                            One({"add", "subtract", "multiply", "divide", "maximum", "minimum"}), a, b));
    else
      New(type, fmt::format("{}({}, {})",
                            One({"add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor",
                                 "shift-left", "shift-right-logical", "divide", "remainder"}),
                            a, b));
  }

  void AddIndexing(std::string* table, std::string* bins) {
    const std::string i = Pick("s32[]"), j = Pick("s32[]");
    switch (Below(6)) {
      case 5: {
        const std::string at = New("s32[2]", fmt::format("concatenate({}, {}), dimensions={{0}}",
                                                         New("s32[1]", fmt::format("reshape({})", i)),
                                                         New("s32[1]", fmt::format("reshape({})", j))));
        if (Below(2) == 0)
          New("f32[3]", fmt::format("gather({}, {}), offset_dims={{0}}, collapsed_slice_dims={{0}}, "
                                    "start_index_map={{0,1}}, index_vector_dim=0, slice_sizes={{1,3}}",
                                    *table, at));
        else
          New("s64[]", fmt::format("gather({}, {}), offset_dims={{}}, collapsed_slice_dims={{0}}, "
                                   "start_index_map={{0}}, index_vector_dim=0, slice_sizes={{1}}",
                                   *bins, New("s32[1]", fmt::format("slice({}), slice={{[1:2]}}", at))));
        return;
      }
      case 0:
        New("f32[1,3]", fmt::format("dynamic-slice({}, {}, {}), dynamic_slice_sizes={{1,3}}", *table, i, j));
        New("f32[3]", fmt::format("reshape({})", values_.back().name));
        return;
      case 1: {
        const std::string row = Pick("f32[3]");
        if (row.empty()) return;
        const std::string line = New("f32[1,3]", fmt::format("reshape({})", row));
        *table = New("f32[9,3]", fmt::format("dynamic-update-slice({}, {}, {}, {})", *table, line, i, j));
        return;
      }
      case 2: {
        const std::string index = New("s32[1]", fmt::format("reshape({})", i));
        const std::string row = Pick("f32[3]");
        if (row.empty()) return;
        *table = New("f32[9,3]",
                     fmt::format("scatter({}, {}, {}), update_window_dims={{0}}, inserted_window_dims={{0}}, "
                                 "scatter_dims_to_operand_dims={{0}}, index_vector_dim=0, to_apply=put",
                                 *table, index, row));
        return;
      }
      case 3: {
        const std::string value = Pick("s64[]");
        if (value.empty()) return;
        const std::string index = New("s32[1]", fmt::format("reshape({})", i));
        *bins = New("s64[7]",
                    fmt::format("scatter({}, {}, {}), update_window_dims={{}}, inserted_window_dims={{0}}, "
                                "scatter_dims_to_operand_dims={{0}}, index_vector_dim=0, to_apply=sum",
                                *bins, index, value));
        return;
      }
      default: {
        const std::string a = Pick("f32[]");
        if (a.empty()) return;
        const std::string t = fmt::format("t{}", next_name_++);
        lines_ += fmt::format("  {} = (f32[], s32[]) tuple({}, {})\n", t, a, i);
        if (Below(2) == 0)
          New("f32[]",
              fmt::format("conditional({}, {}, {}), branch_computations={{first, second}}", j, t, t));
        else if (const std::string p = Pick("pred[]"); !p.empty())
          New("f32[]",
              fmt::format("conditional({}, {}, {}), true_computation=first, false_computation=second", p, t,
                          t));
        return;
      }
    }
  }

  std::string Body(const std::string& tuple) {
    lines_ = fmt::format("step {{\n  t = {} parameter(0)\n", tuple);
    New("s32[]", "get-tuple-element(t), index=0");
    std::string table = New("f32[9,3]", "get-tuple-element(t), index=1");
    std::string bins = New("s64[7]", "get-tuple-element(t), index=2");
    for (size_t k = 0; k < state_.size(); ++k)
      New(state_[k], fmt::format("get-tuple-element(t), index={}", k + 3));
    New("s32[]", "constant(1)");
    const std::string next = New("s32[]", fmt::format("add({}, {})", values_[0].name, values_.back().name));
    // Indexed arrays are not operands of arithmetic.
    values_.erase(values_.begin() + 1, values_.begin() + 3);
    for (int k = 0, count = 3 + Below(12); k < count; ++k) {
      if (Below(4) == 0)
        AddIndexing(&table, &bins);
      else
        AddOperation();
      // Only indexing uses these.
      if (values_.back().type == "f32[9,3]" || values_.back().type == "s64[7]") values_.pop_back();
    }
    std::vector<std::string> results;
    for (const std::string& type : state_) results.push_back(Pick(type));
    lines_ += fmt::format("  ROOT u = {} tuple({}, {}, {}, {})\n}}\n", tuple, next, table, bins,
                          absl::StrJoin(results, ", "));
    return lines_;
  }

  std::mt19937 random_;
  std::vector<std::string> state_;
  std::vector<Value> values_;
  std::string lines_;
  int next_name_ = 0;
};

TEST(LoopTest, RandomLoops) {
  for (uint32_t seed = 1; seed <= 600 && !testing::Test::HasFailure(); ++seed)
    test::ExpectEnginesAgree(LoopWriter(seed).Write(),
                             {.specials = true, .has_kernel = false, .index_range = 11});
}

// Loops of many operations run in pieces of a single row, or of several rows, on all threads. Iotas prevent
// pieces of a row.
TEST(LoopTest, LongLoopsRunInPieces) {
  const int64_t delay = cpu::SetNativeCodeDelay(0);
  constexpr int kOperations = 60;
  const auto chain = [](std::string_view shape, std::string_view first, std::string_view second) {
    std::string text = fmt::format(" v0 = {} multiply({}, {})\n", shape, first, second);
    for (int k = 1; k < kOperations; ++k)
      text += fmt::format(" v{} = {} {}(v{}, {})\n", k, shape, k % 2 == 0 ? "multiply" : "add", k - 1,
                          k % 3 == 0 ? first : second);
    return text + fmt::format(" ROOT r = {} xor(v{}, {})\n", shape, kOperations - 1, second);
  };
  for (const int n : {15'999, 16'384}) {
    const std::string shape = fmt::format("s32[{}]", n);
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ a = {0} parameter(0)\n s = s32[] parameter(1)\n"
                    " b = {0} broadcast(s), dimensions={{}}\n{1}}}",
                    shape, chain(shape, "a", "b")));
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ a = {0} parameter(0)\n i = {0} iota(), iota_dimension=0\n{1}}}", shape,
                    chain(shape, "a", "i")));
  }
  for (const auto& [rows, columns] : {std::pair(120, 130), std::pair(3, 5'000)}) {
    const std::string shape = fmt::format("s32[{},{}]", rows, columns);
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ w = s32[{0},{1}] parameter(0)\n b = {2} parameter(1)\n"
                    " a = {2} slice(w), slice={{[1:{3}],[2:{4}]}}\n{5}}}",
                    rows + 1, columns + 3, shape, rows + 1, columns + 2, chain(shape, "a", "b")));
  }
  cpu::SetNativeCodeDelay(delay);
}

}  // namespace
}  // namespace hlo::loops_test
