// Tests dots of transposed operands through both engines: folding transposes into the dot must not change the
// sums.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_join.h"
#include "engines.h"
#include "fmt/format.h"

namespace hlo::transposes_test {
namespace {

using Dims = std::vector<int64_t>;

std::string Text(const Dims& dims) { return absl::StrJoin(dims, ","); }

// One operand: the roles of the array's dimensions in random order, and optionally a transpose of the array.
struct Operand {
  enum Role { kBatch, kContracting, kFree };
  std::vector<std::pair<Role, int64_t>> dims;  // Role and number within that role.
  Dims permutation;
  bool is_transposed;

  Operand(int64_t batch, int64_t contracting, int64_t free, std::mt19937& random)
      : is_transposed(random() % 4 != 0) {
    for (int64_t i = 0; i < batch; ++i) dims.push_back({kBatch, i});
    for (int64_t i = 0; i < contracting; ++i) dims.push_back({kContracting, i});
    for (int64_t i = 0; i < free; ++i) dims.push_back({kFree, i});
    std::shuffle(dims.begin(), dims.end(), random);
    permutation.resize(dims.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
  }
  // Returns the dimensions with this role, by number.
  Dims Places(Role role) const {
    Dims places(std::count_if(dims.begin(), dims.end(), [&](const auto& dim) { return dim.first == role; }));
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].first == role) places[dims[d].second] = static_cast<int64_t>(d);
    }
    return places;
  }
  Dims Sizes(const Dims& batch, const Dims& contracting, const Dims& free) const {
    Dims sizes;
    for (const auto& [role, i] : dims)
      sizes.push_back(role == kBatch ? batch[i] : role == kContracting ? contracting[i] : free[i]);
    return sizes;
  }
};

// Defines the array and, if it is transposed, the transpose; the dot's operand is `name`.
std::string Define(const Operand& operand, const Dims& sizes, std::string_view type, std::string_view name,
                   int number) {
  if (!operand.is_transposed)
    return fmt::format("  {} = {}[{}] parameter({})\n", name, type, Text(sizes), number);
  Dims before(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) before[operand.permutation[d]] = sizes[d];
  return fmt::format(
      "  {0}0 = {1}[{2}] parameter({3})\n  {0} = {1}[{4}] transpose({0}0), dimensions={{{5}}}\n", name, type,
      Text(before), number, Text(sizes), Text(operand.permutation));
}

TEST(TransposesTest, RandomDots) {
  constexpr const char* kTypes[] = {"s32", "f32", "bf16", "c64", "u8"};
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const auto sizes = [&](int64_t count) {
      Dims dims(count);
      for (int64_t& dim : dims) dim = 1 + static_cast<int64_t>(random() % 6);
      return dims;
    };
    const Dims batch = sizes(random() % 3), contracting = sizes(random() % 3), left = sizes(random() % 3),
               right = sizes(random() % 3);
    const Operand a(std::ssize(batch), std::ssize(contracting), std::ssize(left), random),
        b(std::ssize(batch), std::ssize(contracting), std::ssize(right), random);
    Dims result = batch;
    for (const auto& [operand, free] : {std::pair(&a, &left), std::pair(&b, &right)}) {
      for (const auto& [role, number] : operand->dims) {
        if (role == Operand::kFree) result.push_back((*free)[number]);
      }
    }
    const char* type = kTypes[random() % std::size(kTypes)];
    const std::string text = fmt::format(
        "ENTRY e {{\n{}{}  ROOT r = {}[{}] dot(a, b), lhs_batch_dims={{{}}}, rhs_batch_dims={{{}}}, "
        "lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}\n}}\n",
        Define(a, a.Sizes(batch, contracting, left), type, "a", 0),
        Define(b, b.Sizes(batch, contracting, right), type, "b", 1), type, Text(result),
        Text(a.Places(Operand::kBatch)), Text(b.Places(Operand::kBatch)),
        Text(a.Places(Operand::kContracting)), Text(b.Places(Operand::kContracting)));
    SCOPED_TRACE(text);
    const bool is_exact = type == std::string_view("s32") || type == std::string_view("u8");
    test::ExpectEnginesAgree(text,
                             {.rule = is_exact ? CompareRule::Exact() : CompareRule::Close(1e-2, 1e-2)});
  }
}

}  // namespace
}  // namespace hlo::transposes_test
