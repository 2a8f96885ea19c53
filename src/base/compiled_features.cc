// Records the CPU extensions that the compiler may use in one constant. This file has the same compile
// options as the others and contains no code.

#include <cstdint>

// HLO_IS_DEFINED(macro) is 1 if the macro is defined as 1, otherwise 0.
#define HLO_TWO_IF_1 0,
#define HLO_SECOND(first, second, ...) second
#define HLO_IS_DEFINED_3(one_or_two) HLO_SECOND(one_or_two 1, 0, 0)
#define HLO_IS_DEFINED_2(value) HLO_IS_DEFINED_3(HLO_TWO_IF_##value)
#define HLO_IS_DEFINED(macro) HLO_IS_DEFINED_2(macro)

namespace {
constexpr bool kIsCompiledFor[] = {
#define HLO_CPU_FEATURE(name, macro, ...) HLO_IS_DEFINED(macro),
#include "base/cpu_features.def"
#undef HLO_CPU_FEATURE
    false,  // Keeps the array from being empty on other architectures.
};

consteval uint64_t Mask() {
  uint64_t mask = 0;
  for (uint64_t i = 0; i + 1 < sizeof kIsCompiledFor; ++i) mask |= uint64_t{kIsCompiledFor[i]} << i;
  return mask;
}
}  // namespace

extern const uint64_t hlo_compiled_features;
constinit const uint64_t hlo_compiled_features = Mask();
