#include "hlo_run/attribute.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"

namespace hlo {
namespace {

constexpr std::array<AttrInfo, kAttrCount> kAttributes = {{
#define HLO_ATTR(id, spelling, kind) {spelling, AttrKind::k##kind},
#include "hlo_run/attributes.def"
#undef HLO_ATTR
}};

}  // namespace

const AttrInfo& Info(AttrId id) { return kAttributes[static_cast<size_t>(id)]; }

#define HLO_WORDS(E, case_blind, ...)                            \
  template <>                                                    \
  const EnumWords<E>& Words<E>() {                               \
    static constexpr std::string_view kWords[] = {__VA_ARGS__};  \
    static constexpr EnumWords<E> kTable = {kWords, case_blind}; \
    return kTable;                                               \
  }                                                              \
  template std::optional<E> ParseWord<E>(std::string_view);

template <class E>
std::optional<E> ParseWord(std::string_view word) {
  const EnumWords<E>& table = Words<E>();
  const auto it = std::find_if(table.words.begin(), table.words.end(), [&](std::string_view known) {
    return table.ignore_case
               ? absl::EqualsIgnoreCase({known.data(), known.size()}, {word.data(), word.size()})
               : known == word;
  });
  if (it == table.words.end()) return std::nullopt;
  return static_cast<E>(it - table.words.begin());
}

HLO_WORDS(ComparisonDirection, false, "EQ", "NE", "GE", "GT", "LE", "LT")
HLO_WORDS(ComparisonOrder, false, "PARTIAL", "TOTAL")
HLO_WORDS(ComparisonType, false, "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
HLO_WORDS(FftType, false, "FFT", "IFFT", "RFFT", "IRFFT")
HLO_WORDS(FusionKind, false, "kLoop", "kInput", "kOutput", "kCustom")
HLO_WORDS(RandomDistribution, true, "rng_invalid", "rng_uniform", "rng_normal")
HLO_WORDS(RngAlgorithm, true, "rng_default", "rng_three_fry", "rng_philox")
HLO_WORDS(Precision, true, "default", "high", "highest")
HLO_WORDS(PrecisionAlgorithm, true, "unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum",
          "dot_f16_f16_f16", "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32",
          "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_bf16_bf16_f32_x9", "dot_tf32_tf32_f32",
          "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64")
HLO_WORDS(ConvolutionKind, false, "unset", "fprop", "wgrad", "dgrad")
HLO_WORDS(TransposeA, false, "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
HLO_WORDS(PaddingType, false, "PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
HLO_WORDS(CustomCallSchedule, true, "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
HLO_WORDS(ApiVersion, true, "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
          "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI")
HLO_WORDS(AllReduceMode, false, "cross_replica", "cross_partition", "cross_replica_and_partition",
          "flattened_id")
HLO_WORDS(ShuffleMode, false, "rotate")
HLO_WORDS(AccuracyMode, true, "default", "highest")
#undef HLO_WORDS

}  // namespace hlo
