// Tests sorts by networks, in thread blocks and in sweeps, in the emulator. The bits of all results are those
// of a stable sort with the comparator, also where elements with different bits are equal.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "emulated.h"
#include "fmt/format.h"

namespace hlo::cuda::sort_test {
namespace {

enum class Order : uint8_t { kTotal, kEqualZerosAndNans, kLess };

// Element types of the keys: how bits are read as numbers.
struct F32 {
  using Bits = uint32_t;
  static constexpr ElementType kType = ElementType::kF32;
  static double Value(Bits bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};
struct F64 {
  using Bits = uint64_t;
  static constexpr ElementType kType = ElementType::kF64;
  static double Value(Bits bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};
struct Bf16 {
  using Bits = uint16_t;
  static constexpr ElementType kType = ElementType::kBF16;
  static double Value(Bits bits) { return F32::Value(static_cast<uint32_t>(bits) << 16); }
};
template <class Integer, ElementType kElementType>
struct Whole {
  using Bits = std::make_unsigned_t<Integer>;
  static constexpr ElementType kType = kElementType;
  static int64_t Value(Bits bits) { return static_cast<Integer>(bits); }
};
using S8 = Whole<int8_t, ElementType::kS8>;
using S32 = Whole<int32_t, ElementType::kS32>;
using U16 = Whole<uint16_t, ElementType::kU16>;

template <class T>
bool Less(Order order, typename T::Bits a, typename T::Bits b) {
  const auto x = T::Value(a), y = T::Value(b);
  if constexpr (std::is_integral_v<decltype(T::Value(a))>) {
    return x < y;
  } else {
    if (order == Order::kLess) return x < y;
    if (order == Order::kEqualZerosAndNans)
      return std::isnan(x) || std::isnan(y) ? std::isnan(y) && !std::isnan(x) : x < y;
    // -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
    using Signed = std::make_signed_t<typename T::Bits>;
    const auto rank = [](typename T::Bits bits) {
      const auto is_signed = static_cast<Signed>(bits);
      return is_signed < 0 ? static_cast<Signed>(bits ^ std::numeric_limits<Signed>::max()) : is_signed;
    };
    return rank(a) < rank(b);
  }
}

std::string Comparator(Order order, const std::string& type, bool descending) {
  const std::string direction = descending ? "GT" : "LT";
  if (order == Order::kTotal)
    return "ROOT r = pred[] compare(a0, b0), direction=" + direction + ", type=TOTALORDER";
  if (order == Order::kLess) return "ROOT r = pred[] compare(a0, b0), direction=" + direction;
  std::string text = fmt::format("z = {0}[] constant(0)\n n = {0}[] constant(nan)\n", type);
  for (const char* side : {"a", "b"})
    text += fmt::format(
        " {1}e = pred[] compare({1}0, z), direction=EQ\n {1}s = {0}[] select({1}e, z, {1}0)\n"
        " {1}u = pred[] compare({1}0, {1}0), direction=NE\n {1}k = {0}[] select({1}u, n, {1}s)\n",
        type, side);
  return text + " ROOT r = pred[] compare(ak, bk), direction=" + direction + ", type=TOTALORDER";
}

struct Case {
  std::vector<int64_t> dims;
  int64_t dimension = 0;
  Order order = Order::kTotal;
  bool descending = false;
  std::vector<ElementType> others = {};  // Operands that follow the key.
  int schedules = 1;
};

// Few values, some of them special, so that many are equal.
template <class T>
std::vector<typename T::Bits> Keys(size_t count, bool with_nan) {
  using Bits = typename T::Bits;
  std::mt19937_64 random(count);
  std::vector<Bits> keys(count);
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (Bits& key : keys) {
    key = static_cast<Bits>(random());
    if (random() % 4 == 0) key = static_cast<Bits>(key % 3 + (random() % 2 == 0 ? sign : 0));
    if (random() % 7 == 0) key = random() % 2 == 0 ? sign : Bits{0};
    if (!with_nan && T::Value(key) != T::Value(key)) key = sign;
  }
  if (with_nan) keys[count / 2] = static_cast<Bits>(~Bits{0});
  return keys;
}

std::string ModuleText(const Case& c, ElementType key_type) {
  std::vector<ElementType> types = {key_type};
  types.insert(types.end(), c.others.begin(), c.others.end());
  std::string dims, parameters, arrays, names, comparator;
  for (const int64_t dim : c.dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  for (size_t k = 0; k < types.size(); ++k) {
    const std::string type(Name(types[k]));
    comparator += fmt::format("a{0} = {1}[] parameter({2})\n b{0} = {1}[] parameter({3})\n ", k, type, 2 * k,
                              2 * k + 1);
    parameters += fmt::format("x{} = {}[{}] parameter({})\n ", k, type, dims, k);
    arrays += fmt::format("{}{}[{}]", k == 0 ? "" : ", ", type, dims);
    names += fmt::format("{}x{}", k == 0 ? "" : ", ", k);
  }
  return fmt::format(
      "HloModule t\nc {{ {}{} }}\nENTRY e {{ {}ROOT r = {} sort({}), dimensions={{{}}}, is_stable=true, "
      "to_apply=c }}\n",
      comparator, Comparator(c.order, std::string(Name(key_type)), c.descending), parameters,
      types.size() == 1 ? arrays : "(" + arrays + ")", names, c.dimension);
}

// Returns the elements' numbers, sorted along the dimension.
template <class T>
std::vector<int64_t> SortedNumbers(const Case& c, const std::vector<typename T::Bits>& keys) {
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(c.dimension) + 1; d < c.dims.size(); ++d) inner *= c.dims[d];
  const int64_t length = c.dims[static_cast<size_t>(c.dimension)];
  std::vector<int64_t> numbers(keys.size()), line(static_cast<size_t>(length));
  for (int64_t i = 0; i < static_cast<int64_t>(keys.size()) / length; ++i) {
    const int64_t first = i / inner * inner * length + i % inner;
    for (int64_t t = 0; t < length; ++t) line[t] = first + t * inner;
    std::stable_sort(line.begin(), line.end(), [&](int64_t a, int64_t b) {
      return c.descending ? Less<T>(c.order, keys[b], keys[a]) : Less<T>(c.order, keys[a], keys[b]);
    });
    for (int64_t t = 0; t < length; ++t) numbers[first + t * inner] = line[t];
  }
  return numbers;
}

template <class T>
void Check(const Case& c, const std::string& name) {
  const std::string text = ModuleText(c, T::kType);
  SCOPED_TRACE(text);
  const absl::StatusOr<CheckedModule> module = ReadModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::optional<CudaKernel> kernel =
      FindCudaKernel(*module->module().entry()->root(),
                     {.compute_capability = 90, .multiprocessors = 2, .shared_bytes_per_block = 227 << 10});
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->name.substr(0, name.size()), name);
  int64_t count = 1;
  for (const int64_t dim : c.dims) count *= dim;
  const std::vector<typename T::Bits> keys = Keys<T>(static_cast<size_t>(count), c.order != Order::kLess);
  const std::vector<int64_t> numbers = SortedNumbers<T>(c, keys);
  std::vector<std::vector<uint8_t>> operands;
  std::vector<size_t> widths = {sizeof(typename T::Bits)};
  const auto* bytes = reinterpret_cast<const uint8_t*>(keys.data());
  operands.emplace_back(bytes, bytes + keys.size() * widths[0]);
  for (const ElementType other : c.others) {
    widths.push_back(static_cast<size_t>(ByteCount(other)));
    std::mt19937 random(7);
    operands.emplace_back(keys.size() * widths.back());
    for (uint8_t& byte : operands.back()) byte = static_cast<uint8_t>(random());
  }
  std::vector<const void*> in;
  for (const std::vector<uint8_t>& operand : operands) in.push_back(operand.data());
  for (int32_t schedule = 0; schedule < c.schedules; ++schedule) {
    std::vector<std::vector<uint8_t>> results;
    std::vector<void*> out;
    for (const std::vector<uint8_t>& operand : operands) results.emplace_back(operand.size(), uint8_t{0xff});
    for (std::vector<uint8_t>& result : results) out.push_back(result.data());
    std::vector<uint64_t> workspace(static_cast<size_t>(kernel->workspace_bytes) / 8 + 1, ~uint64_t{0});
    const absl::Status status =
        kernel->run(in, absl::MakeSpan(out), workspace.data(), EmulatedStream(schedule));
    ASSERT_TRUE(status.ok()) << status;
    for (size_t k = 0; k < operands.size(); ++k) {
      for (size_t i = 0; i < keys.size(); ++i)
        ASSERT_EQ(std::memcmp(&results[k][i * widths[k]],
                              &operands[k][static_cast<size_t>(numbers[i]) * widths[k]], widths[k]),
                  0)
            << "operand " << k << ", element " << i << ", schedule " << schedule;
    }
  }
}

template <class T>
void CheckOrders(std::vector<int64_t> dims, int64_t dimension, const std::vector<ElementType>& others,
                 const std::string& name) {
  for (const bool descending : {false, true}) {
    Check<T>({dims, dimension, Order::kTotal, descending, others}, name);
    if constexpr (std::is_same_v<T, F32> || std::is_same_v<T, F64> || std::is_same_v<T, Bf16>) {
      Check<T>({dims, dimension, Order::kEqualZerosAndNans, descending, others}, name);
      Check<T>({dims, dimension, Order::kLess, descending, others}, name);
    }
  }
}

const std::vector<ElementType> kNone, kOneWord = {ElementType::kS32}, kOneByte = {ElementType::kS8},
                                      kTwo = {ElementType::kC128, ElementType::kF64};

TEST(Sort, OfShortLinesByNetworks) {
  CheckOrders<F32>({5, 7}, 1, kNone, "sort by networks");
  CheckOrders<Bf16>({256, 2}, 0, kTwo, "sort by networks");
  Check<S8>({{3, 200}, 1, Order::kTotal, false, kOneWord}, "sort by networks");
}

// Each shape of thread blocks.
TEST(Sort, OfLinesInThreadBlocks) {
  for (const int64_t n : {257, 512, 513, 1024, 1500, 2049, 4096, 8192}) {
    CheckOrders<Bf16>({1, n}, 1, n % 2 == 0 ? kNone : kOneWord, "sort in blocks");
    Check<F32>({{n}, 0, Order::kEqualZerosAndNans, n % 2 == 0, kNone}, "sort in blocks");
    Check<S8>({{n}, 0, Order::kTotal, n % 2 == 0, kTwo}, "sort in blocks");
    Check<F64>({{n}, 0, Order::kTotal, false, kOneByte}, "sort in blocks");
  }
  CheckOrders<F32>({2, 700, 2}, 1, kTwo, "sort in blocks");
  CheckOrders<F32>({3, 600}, 1, std::vector<ElementType>(9, ElementType::kS32), "sort in blocks");
  Check<S32>({{3, 2500}, 1, Order::kTotal, false, kOneWord, 4}, "sort in blocks");
}

TEST(Sort, OfLongLinesInSweeps) {
  CheckOrders<F32>({20000}, 0, kNone, "sort in sweeps");
  CheckOrders<F32>({2, 9000}, 1, kOneWord, "sort in sweeps");
  CheckOrders<F64>({9001}, 0, kNone, "sort in sweeps");
  CheckOrders<Bf16>({3, 8193}, 1, kOneByte, "sort in sweeps");
  CheckOrders<Bf16>({12000}, 0, kNone, "sort in sweeps");
  Check<S8>({{30000}, 0, Order::kTotal, true, kNone}, "sort in sweeps");
  Check<S8>({{9000}, 0, Order::kTotal, false, kOneWord}, "sort in sweeps");
  Check<U16>({{9000, 2}, 0, Order::kTotal, false, kTwo}, "sort in sweeps");
  Check<S32>({{8193}, 0, Order::kTotal, true, kTwo}, "sort in sweeps");
}

// Tiles wait for each other in shuffled schedules.
TEST(Sort, DoesNotDependOnTheOrderOfThreads) {
  Check<F32>({{15000}, 0, Order::kEqualZerosAndNans, false, kNone, 4}, "sort in sweeps");
  Check<S32>({{2, 9000}, 1, Order::kTotal, false, kOneWord, 4}, "sort in sweeps");
  Check<Bf16>({{4097}, 0, Order::kEqualZerosAndNans, true, kOneWord, 4}, "sort in blocks");
}

}  // namespace
}  // namespace hlo::cuda::sort_test
