// Generates arguments of modules. The parameter names of idioms determine the values: `p` small numbers,
// `below_N` indices from -2 to N+1, `wild` arbitrary values.

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "hlo_run/io.h"
#include "judge.h"
#include "types/dispatch.h"

namespace hlo::fuzz {
namespace {

struct Draw {
  Random random;
  bool is_wild = false, is_loose = false, is_full = false;
  std::optional<int64_t> below;

  double Real() {
    static constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::infinity(),
                                           -std::numeric_limits<double>::infinity(), 0.0, -0.0};
    if (is_wild && random.Chance(0.3)) return kSpecials[random.Below(5)];
    if (is_loose) return random.Unit() * 4 - 2;
    return static_cast<double>(random.Between(-3, 3));
  }
  template <ElementType kType>
  Native<kType> Number() {
    using N = Native<kType>;
    if constexpr (kType == ElementType::kPred) {
      return random.Chance(0.5);
    } else if constexpr (requires { N::format(); }) {
      return N::FromDouble(Real());
    } else if constexpr (std::is_floating_point_v<N>) {
      return static_cast<N>(Real());
    } else if constexpr (requires(N n) { n.real(); }) {
      using R = typename N::value_type;
      const auto re = static_cast<R>(Real());
      return N(re, static_cast<R>(Real()));
    } else {
      const int width = static_cast<int>(BitWidth(kType));
      if (below) {
        const int64_t index = random.Between(-2, *below + 1);
        return static_cast<N>(IsUnsigned(kType) ? std::max<int64_t>(index, 0) : index);
      }
      if (width < 8) {
        const int64_t low = IsSigned(kType) ? -(int64_t{1} << (width - 1)) : 0;
        return static_cast<N>(low + random.Below(int64_t{1} << width));
      }
      if (is_full) return static_cast<N>(random.Next());
      return static_cast<N>(IsSigned(kType) ? random.Between(-3, 3) : random.Between(0, 6));
    }
  }
};

uint64_t Hash(std::string_view text) {
  uint64_t hash = 1469598103934665603u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

absl::StatusOr<std::vector<Literal>> MakeArguments(const Module& module, uint64_t seed) {
  HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments, MakeInputs(module, InputFill::kUniform, seed));
  bool zeros = false;
  const bool is_exact = IsExact(module, &zeros);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = module.entry()->parameter(static_cast<int64_t>(i))->name();
    const std::string_view stem = name.substr(0, name.find('.'));
    if (!arguments[i].shape().IsArray()) continue;
    Draw draw{.random = Random(seed ^ Hash(name)), .is_wild = stem == "wild", .is_loose = !is_exact};
    int64_t below = 0;
    if (stem.starts_with("below_") &&
        absl::SimpleAtoi(absl::string_view(stem.data() + 6, stem.size() - 6), &below))
      draw.below = below;
    else if (stem != "p" && stem != "wild")
      continue;
    draw.is_full = draw.random.Chance(0.2);
    DispatchType(arguments[i].type(), [&]<ElementType kType>() {
      for (Native<kType>& x : arguments[i].mutable_span<Native<kType>>()) x = draw.Number<kType>();
    });
  }
  return arguments;
}

}  // namespace hlo::fuzz
