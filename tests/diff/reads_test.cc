// Tests loops that read through pads, gathers and other index transformations, through both engines.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engines.h"
#include "fmt/format.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::reads_test {
namespace {

using Dims = std::vector<int64_t>;

// Generates chains of random index transformations and elementwise operations.
class ReadWriter {
 public:
  ReadWriter(uint32_t seed, const char* type) : random_(seed), type_(type) {}

  std::string Write() {
    for (int k = 0, count = 1 + Below(2); k < count; ++k) {
      Dims dims;
      for (int d = 0, rank = 1 + Below(3); d < rank; ++d) dims.push_back(Size());
      Parameter(type_, dims);
      arrays_.push_back({last_, dims});
    }
    Parameter(type_, {});
    scalar_ = last_;
    for (int k = 0, count = 3 + Below(9); k < count; ++k) AddOperation();
    // Only late values are results, so that earlier ones can be fused.
    std::vector<std::string> names, types;
    for (size_t k = arrays_.size() - std::min<size_t>(arrays_.size(), 1 + Below(2)); k < arrays_.size();
         ++k) {
      names.push_back(arrays_[k].name);
      types.push_back(TypeOf(arrays_[k].dims));
    }
    return fmt::format(
        "max {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT c = {0}[] maximum(a, b)\n}}\n"
        "ENTRY main {{\n{1}  ROOT r = ({2}) tuple({3})\n}}\n",
        type_, lines_, absl::StrJoin(types, ", "), absl::StrJoin(names, ", "));
  }

 private:
  struct Array {
    std::string name;
    Dims dims;
  };
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  int64_t Size() {
    constexpr int64_t kSizes[] = {1, 2, 3, 5, 17, 24, 40, 130};
    return kSizes[Below(8)];
  }
  std::string TypeOf(const Dims& dims) const {
    return fmt::format("{}[{}]", type_, absl::StrJoin(dims, ","));
  }
  static int64_t Count(const Dims& dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= d;
    return count;
  }

  void Line(const std::string& type, const std::string& operation) {
    last_ = fmt::format("v{}", next_name_++);
    lines_ += fmt::format("  {} = {} {}\n", last_, type, operation);
  }
  void Parameter(const std::string& element, const Dims& dims) {
    Line(fmt::format("{}[{}]", element, absl::StrJoin(dims, ",")),
         fmt::format("parameter({})", parameter_count_++));
  }
  void New(const Dims& dims, const std::string& operation) {
    Line(TypeOf(dims), operation);
    arrays_.push_back({last_, dims});
  }

  void AddOperation() {
    // Prefers the latest array.
    const Array a = arrays_[Below(3) == 0 ? static_cast<size_t>(Below(static_cast<int>(arrays_.size())))
                                          : arrays_.size() - 1];
    const auto rank = static_cast<int>(a.dims.size());
    switch (Below(11)) {
      case 0:
      case 1:
        return Pad(a);
      case 2:
        return Slice(a);
      case 3:
        if (rank == 0) return;
        return New(a.dims, fmt::format("reverse({}), dimensions={{{}}}", a.name, Below(rank)));
      case 4:
        return Transpose(a);
      case 5:
        if (Count(a.dims) > 600) return;
        return Broadcast(a);
      case 6:
        return Rows(a);
      case 7:
        return Reduce(a);
      case 8:
        return Concatenate(a);
      default:
        return Combine(a);
    }
  }

  void Pad(const Array& a) {
    Dims dims = a.dims;
    std::vector<std::string> padding;
    for (int64_t& d : dims) {
      const int64_t low = Below(6) - 2, high = Below(6) - 2, interior = Below(5) == 0 ? 1 + Below(2) : 0;
      const int64_t size = d + (d - 1) * interior + low + high;
      padding.push_back(size < 1 ? "0_0" : fmt::format("{}_{}_{}", low, high, interior));
      if (size >= 1) d = size;
    }
    if (dims.empty() || Count(dims) > 20000) return;
    New(dims, fmt::format("pad({}, {}), padding={}", a.name, scalar_, absl::StrJoin(padding, "x")));
  }

  void Slice(const Array& a) {
    if (a.dims.empty()) return;
    Dims dims = a.dims;
    std::vector<std::string> ranges;
    for (int64_t& d : dims) {
      const int64_t start = Below(static_cast<int>(std::min<int64_t>(d, 3))), step = 1 + Below(2);
      const int64_t limit = start + 1 + Below(static_cast<int>(d - start));
      ranges.push_back(fmt::format("[{}:{}:{}]", start, limit, step));
      d = (limit - start + step - 1) / step;
    }
    New(dims, fmt::format("slice({}), slice={{{}}}", a.name, absl::StrJoin(ranges, ", ")));
  }

  void Transpose(const Array& a) {
    const auto rank = static_cast<int>(a.dims.size());
    if (rank < 2) return;
    Dims dims, permutation;
    const int turn = 1 + Below(rank - 1);
    for (int d = 0; d < rank; ++d) {
      permutation.push_back((d + turn) % rank);
      dims.push_back(a.dims[static_cast<size_t>(permutation.back())]);
    }
    New(dims, fmt::format("transpose({}), dimensions={{{}}}", a.name, absl::StrJoin(permutation, ",")));
  }

  void Broadcast(const Array& a) {
    Dims dims = a.dims, mapped;
    const auto at = static_cast<size_t>(Below(static_cast<int>(a.dims.size()) + 1));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), Size());
    for (size_t d = 0; d < a.dims.size(); ++d) mapped.push_back(static_cast<int64_t>(d < at ? d : d + 1));
    New(dims, fmt::format("broadcast({}), dimensions={{{}}}", a.name, absl::StrJoin(mapped, ",")));
  }

  // Gathers slices of one element along a dimension, or blocks of two, at positions from an array.
  void Rows(const Array& a) {
    if (a.dims.empty()) return;
    const auto d = Below(static_cast<int>(a.dims.size()));
    const int64_t count = Size(), taken = std::min<int64_t>(a.dims[static_cast<size_t>(d)], 1 + Below(2));
    if (Count(a.dims) / a.dims[static_cast<size_t>(d)] * taken * count > 20000) return;
    const bool has_vectors = Below(2) == 0, collapses = taken == 1;
    Parameter("s32", has_vectors ? Dims{count, 1} : Dims{count});
    const std::string indices = last_;
    // The gathered positions are the first or the last dimensions.
    Dims sizes = a.dims, windows, offsets;
    sizes[static_cast<size_t>(d)] = taken;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!collapses || static_cast<int>(i) != d) windows.push_back(sizes[i]);
    }
    const bool first = Below(2) == 0;
    Dims dims = windows;
    dims.insert(first ? dims.begin() : dims.end(), count);
    for (size_t i = 0; i < windows.size(); ++i) offsets.push_back(static_cast<int64_t>(first ? i + 1 : i));
    New(dims, fmt::format("gather({}, {}), offset_dims={{{}}}, collapsed_slice_dims={{{}}}, "
                          "start_index_map={{{}}}, index_vector_dim=1, slice_sizes={{{}}}",
                          a.name, indices, absl::StrJoin(offsets, ","),
                          collapses ? fmt::to_string(d) : std::string(), d, absl::StrJoin(sizes, ",")));
  }

  void Reduce(const Array& a) {
    if (a.dims.size() < 2) return;
    const auto d = static_cast<size_t>(Below(static_cast<int>(a.dims.size())));
    Dims dims = a.dims;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    New(dims, fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply=max", a.name, scalar_, d));
  }

  void Concatenate(const Array& a) {
    if (a.dims.empty() || Count(a.dims) > 4000) return;
    const auto d = static_cast<size_t>(Below(static_cast<int>(a.dims.size())));
    Dims dims = a.dims;
    std::vector<std::string> pieces{a.name};
    for (const Array& other : arrays_) {
      Dims fitted = other.dims;
      if (fitted.size() == dims.size()) fitted[d] = dims[d];
      if (fitted != dims || pieces.size() == 4 || Below(2) == 0 || Count(other.dims) > 4000) continue;
      pieces.push_back(other.name);
      dims[d] += other.dims[d];
    }
    New(dims, fmt::format("concatenate({}), dimensions={{{}}}", absl::StrJoin(pieces, ", "), d));
  }

  void Combine(const Array& a) {
    std::vector<std::string> fit;
    for (const Array& other : arrays_) {
      if (other.dims == a.dims) fit.push_back(other.name);
    }
    const std::string b = fit[static_cast<size_t>(Below(static_cast<int>(fit.size())))];
    constexpr const char* kOperations[] = {"add", "subtract", "multiply", "maximum"};
    New(a.dims, fmt::format("{}({}, {})", kOperations[Below(4)], a.name, b));
  }

  std::mt19937 random_;
  std::string type_, lines_, last_, scalar_;
  std::vector<Array> arrays_;
  int next_name_ = 0, parameter_count_ = 0;
};

constexpr const char* kTypes[] = {"f32", "s32", "bf16", "f64", "u8", "f8e4m3fn", "s4", "f16", "s64"};

std::string Program(uint32_t seed) { return ReadWriter(seed, kTypes[seed % std::size(kTypes)]).Write(); }

// Moves the entry computation to a loop that runs once, so that small loops become bytecode.
std::string InLoop(const std::string& program) {
  const std::vector<std::string> parts = absl::StrSplit(program, absl::MaxSplits("ENTRY main {\n", 1));
  std::string parameters, types = "s32[]", names = "zero", body;
  int count = 1;
  for (const absl::string_view line : absl::StrSplit(parts[1], '\n')) {
    // A line is "  NAME = TYPE OPERATION".
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (!absl::StrContains(line, " parameter(")) {
      absl::StrAppend(&body, line, "\n");
      continue;
    }
    absl::StrAppend(&parameters, line, "\n");
    absl::StrAppend(&types, ", ", words[2]);
    absl::StrAppend(&names, ", ", words[0]);
    body += fmt::format("  {} = {} get-tuple-element(state), index={}\n", words[0], words[2], count++);
  }
  const size_t root = body.find("ROOT r = ") + 9, end = body.find(" tuple(", root);
  const std::string results = body.substr(root, end - root);
  body = absl::StrReplaceAll(body.substr(0, body.rfind("}\n")), {{"ROOT r =", "r ="}});
  const std::string state = fmt::format("({}, {})", types, results);
  std::string kept = "next";
  for (int k = 1; k < count; ++k) {
    body += fmt::format("  kept{0} = {1} get-tuple-element(state), index={0}\n", k,
                        std::vector<std::string>(absl::StrSplit(types, ", "))[static_cast<size_t>(k)]);
    kept += fmt::format(", kept{}", k);
  }
  std::string nothing;
  const std::vector<std::string> leaves = absl::StrSplit(results.substr(1, results.size() - 2), ", ");
  for (size_t k = 0; k < leaves.size(); ++k) {
    parameters += fmt::format("  none{} = {} parameter({})\n", k, leaves[k], count - 1 + static_cast<int>(k));
    nothing += fmt::format("{}none{}", k == 0 ? "" : ", ", k);
  }
  return fmt::format(
      "{0}body {{\n  state = {1} parameter(0)\n{2}"
      "  counter = s32[] get-tuple-element(state), index=0\n  one = s32[] constant(1)\n"
      "  next = s32[] add(counter, one)\n  ROOT all = {1} tuple({3}, r)\n}}\n"
      "condition {{\n  state = {1} parameter(0)\n  counter = s32[] get-tuple-element(state), index=0\n"
      "  one = s32[] constant(1)\n  ROOT less = pred[] compare(counter, one), direction=LT\n}}\n"
      "ENTRY main {{\n{4}  zero = s32[] constant(0)\n  none = {5} tuple({6})\n"
      "  state = {1} tuple({7}, none)\n  loop = {1} while(state), condition=condition, body=body\n"
      "  ROOT results = {5} get-tuple-element(loop), index={8}\n}}\n",
      parts[0], state, body, kept, parameters, results, nothing, names, count);
}

TEST(ReadsTest, RandomReadsInLoops) {
  for (uint32_t seed = 7001; seed <= 9000 && !testing::Test::HasFailure(); ++seed)
    test::ExpectEnginesAgree(InLoop(Program(seed)), {.specials = true, .index_range = 30});
}

TEST(ReadsTest, RandomReads) {
  for (uint32_t seed = 1; seed <= 4000 && !testing::Test::HasFailure(); ++seed)
    test::ExpectEnginesAgree(Program(seed), {.specials = true, .index_range = 150});
}

// Some or most columns of arrays with short rows: of one, and of each plane of another.
TEST(ReadsTest, InterleavedColumns) {
  const int64_t delay = cpu::SetNativeCodeDelay(0);
  std::mt19937 random(3);
  for (const char* type : {"f32", "f64", "s16", "u8", "bf16", "s64"}) {
    for (const int columns : {2, 3, 5, 6, 8, 11, 16, 32, 33}) {
      for (const int count : {1, 15, 100, 700}) {
        std::string lines, line, plane;
        for (int c = 0; c < columns; ++c) {
          if (c > 1 && random() % 4 == 0) continue;
          lines += fmt::format(
              "  a{2} = {0}[{1},1] slice(x), slice={{[0:{1}], [{2}:{3}]}}\n"
              "  b{2} = {0}[{1}] reshape(a{2})\n"
              "  c{2} = {0}[3,{1},1] slice(y), slice={{[0:3], [0:{1}], [{2}:{3}]}}\n"
              "  d{2} = {0}[3,{1}] reshape(c{2})\n",
              type, count, c, c + 1);
          if (c > 0) {
            lines += fmt::format(
                "  line{2} = {0}[{1}] subtract(b{2}, {3})\n  plane{2} = {0}[3,{1}] subtract(d{2}, {4})\n",
                type, count, c, line, plane);
          }
          line = fmt::format("{}{}", c > 0 ? "line" : "b", c);
          plane = fmt::format("{}{}", c > 0 ? "plane" : "d", c);
        }
        test::ExpectEnginesAgree(
            fmt::format("ENTRY main {{\n  x = {0}[{1},{2}] parameter(0)\n  y = {0}[3,{1},{2}] parameter(1)\n"
                        "  z = {0}[{1}] parameter(2)\n{3}  w = {0}[3,{1}] broadcast(z), dimensions={{1}}\n"
                        "  l = {0}[{1}] multiply({4}, z)\n  p = {0}[3,{1}] multiply({5}, w)\n"
                        "  ROOT r = ({0}[{1}], {0}[3,{1}]) tuple(l, p)\n}}\n",
                        type, count, columns, lines, line, plane),
            {.specials = true});
      }
    }
  }
  cpu::SetNativeCodeDelay(delay);
}

// Rows of a tile's length, and longer or shorter ones, gathered on either operand of an operation, and on
// both.
TEST(ReadsTest, GatheredRows) {
  for (const char* type : {"f32", "bf16", "s32"}) {
    for (const int row : {128, 200, 1024, 1500}) {
      const std::string out = fmt::format("{}[3,5,{}]", type, row);
      const auto gather = [&](const char* name, const char* arrays, const char* dims, const char* sizes) {
        return fmt::format(
            "  {0} = {1} gather({2}), offset_dims={{2}}, collapsed_slice_dims={{{3}}}, "
            "start_index_map={{{3}}}, "
            "index_vector_dim=2, slice_sizes={{{4},{5}}}\n",
            name, out, arrays, dims, sizes, row);
      };
      test::ExpectEnginesAgree(
          fmt::format("ENTRY main {{\n  t = {0}[9,{1}] parameter(0)\n  i = s32[3,5] parameter(1)\n"
                      "  j = u8[3,5] parameter(2)\n  k = s32[3,5,2] parameter(3)\n"
                      "  l = s32[3,5] parameter(4)\n  p = {2} parameter(5)\n  s = {0}[] parameter(6)\n"
                      "  u = {0}[4,3,{1}] parameter(7)\n"
                      "  sb = {2} broadcast(s), dimensions={{}}\n{3}{4}{5}{6}"
                      "  a = {2} multiply(gi, sb)\n  b = {2} add(a, p)\n"
                      "  c = {2} subtract(p, gj)\n  d = {2} multiply(c, sb)\n"
                      "  e = {2} subtract(gk, gl)\n  f = {2} add(e, sb)\n"
                      "  ROOT r = ({2}, {2}, {2}) tuple(b, d, f)\n}}\n",
                      type, row, out, gather("gi", "t, i", "0", "1"), gather("gj", "t, j", "0", "1"),
                      gather("gk", "u, k", "0,1", "1,1"), gather("gl", "t, l", "0", "1")),
          {.specials = true, .index_range = 12});
    }
  }
}

// Elements at two indices each, which are neighbours in memory or not, at one index of their own row, and of
// a reversed one, in a loop with other operations. The numbers of elements are not multiples of a vector's
// length.
TEST(ReadsTest, GatheredElements) {
  for (const char* type : {"f32", "u32", "bf16", "s64", "u8"}) {
    for (const char* index : {"s32", "u32", "s8", "s64", "u64"}) {
      for (const int count : {5, 100, 2051}) {
        test::ExpectEnginesAgree(
            fmt::format(
                "ENTRY main {{\n  t = {0}[30,40] parameter(0)\n  w = {0}[{2},9] parameter(1)\n"
                "  i = {1}[{2}] parameter(2)\n  j = {1}[{2}] parameter(3)\n  p = {0}[{2}] parameter(4)\n"
                "  ic = {1}[{2},1] reshape(i)\n  jc = {1}[{2},1] reshape(j)\n"
                "  ij = {1}[{2},2] concatenate(ic, jc), dimensions={{1}}\n"
                "  a = {0}[{2}] gather(t, ij), offset_dims={{}}, collapsed_slice_dims={{0,1}}, "
                "start_index_map={{0,1}}, index_vector_dim=1, slice_sizes={{1,1}}\n"
                "  b = {0}[{2}] gather(w, i), offset_dims={{}}, collapsed_slice_dims={{1}}, "
                "operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, start_index_map={{1}}, "
                "index_vector_dim=1, slice_sizes={{1,1}}\n"
                "  v = {0}[{2},9] reverse(w), dimensions={{0}}\n"
                "  c = {0}[{2}] gather(v, j), offset_dims={{}}, collapsed_slice_dims={{1}}, "
                "operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, start_index_map={{1}}, "
                "index_vector_dim=1, slice_sizes={{1,1}}\n"
                "  q = {1}[{2},2] parameter(5)\n"
                "  g = {0}[{2}] gather(t, q), offset_dims={{}}, collapsed_slice_dims={{0,1}}, "
                "start_index_map={{1,0}}, index_vector_dim=1, slice_sizes={{1,1}}\n"
                "  d = {0}[{2}] multiply(a, p)\n  e = {0}[{2}] add(b, p)\n  f = {0}[{2}] subtract(c, e)\n"
                "  h = {0}[{2}] add(g, p)\n"
                "  ROOT r = ({0}[{2}], {0}[{2}], {0}[{2}]) tuple(d, f, h)\n}}\n",
                type, index, count),
            {.specials = true, .index_range = 50});
      }
    }
  }
}

// Short rows: gathered, also as columns, broadcast, reversed, and their columns. The numbers of rows are not
// multiples of a vector's length.
TEST(ReadsTest, ShortRows) {
  for (const char* type : {"f32", "bf16", "f64", "s8"}) {
    for (const int row : {1, 2, 3, 4, 5, 8, 13, 16, 17}) {
      for (const int rows : {5, 70, 351}) {
        const std::string out = fmt::format("{}[{},{}]", type, rows, row);
        test::ExpectEnginesAgree(
            fmt::format(
                "ENTRY main {{\n  t = {0}[40,{2}] parameter(0)\n  i = s32[{1},1] parameter(1)\n"
                "  x = {0}[{1}] parameter(2)\n  p = {3} parameter(3)\n  s = {0}[{2},{1}] parameter(4)\n"
                "  g = {3} gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
                "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{2}}}\n"
                "  b = {3} broadcast(x), dimensions={{0}}\n  a = {3} add(g, b)\n"
                "  v = {3} reverse(p), dimensions={{1}}\n  c = {3} multiply(v, b)\n"
                "  w = {3} transpose(s), dimensions={{1,0}}\n  d = {3} add(w, b)\n"
                "  u = {0}[7,{2},40] parameter(5)\n  q = s32[{1},2] parameter(6)\n"
                "  h = {3} gather(u, q), offset_dims={{1}}, collapsed_slice_dims={{0,2}}, "
                "start_index_map={{0,2}}, index_vector_dim=1, slice_sizes={{1,{2},1}}\n"
                "  e = {3} add(h, b)\n"
                "  ROOT r = ({3}, {3}, {3}, {3}) tuple(a, c, d, e)\n}}\n",
                type, rows, row, out),
            {.specials = true, .index_range = 50});
      }
    }
  }
}

TEST(ReadsTest, RandomReadsInSmallTiles) {
  cpu::SetLargestTile(7);
  for (uint32_t seed = 5001; seed <= 5600 && !testing::Test::HasFailure(); ++seed)
    test::ExpectEnginesAgree(Program(seed), {.specials = true, .index_range = 30});
  cpu::SetLargestTile(1024);
}

TEST(ReadsTest, RandomReadsOnTheEmulatedGpu) {
  for (uint32_t seed = 6001; seed <= 6150 && !testing::Test::HasFailure(); ++seed) {
    test::ExpectEnginesAgree(Program(seed),
                             {.specials = true, .index_range = 30, .device = {Device::Kind::kEmulatedGpu}});
  }
}

}  // namespace
}  // namespace hlo::reads_test
