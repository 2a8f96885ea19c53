#include "text/type_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/element_type.h"

namespace hlo::text {
namespace {

struct Spelling {
  std::string_view word;  // In lower case.
  std::string_view type;
};

// Type names of NumPy, JAX, PyTorch, TensorFlow, C and MLIR.
constexpr Spelling kSpellings[] = {
    {"bool", "pred"},
    {"boolean", "pred"},
    {"i1", "pred"},
    {"bool_", "pred"},
    {"i2", "s2"},
    {"i4", "s4"},
    {"i8", "s8"},
    {"i16", "s16"},
    {"i32", "s32"},
    {"i64", "s64"},
    {"si2", "s2"},
    {"si4", "s4"},
    {"si8", "s8"},
    {"si16", "s16"},
    {"si32", "s32"},
    {"si64", "s64"},
    {"ui2", "u2"},
    {"ui4", "u4"},
    {"ui8", "u8"},
    {"ui16", "u16"},
    {"ui32", "u32"},
    {"ui64", "u64"},
    {"int2", "s2"},
    {"int4", "s4"},
    {"int8", "s8"},
    {"int16", "s16"},
    {"int32", "s32"},
    {"int64", "s64"},
    {"uint2", "u2"},
    {"uint4", "u4"},
    {"uint8", "u8"},
    {"uint16", "u16"},
    {"uint32", "u32"},
    {"uint64", "u64"},
    {"byte", "u8"},
    {"char", "s8"},
    {"short", "s16"},
    {"int", "s32"},
    {"uint", "u32"},
    {"index", "s64"},
    {"long", "s64"},
    {"half", "f16"},
    {"float16", "f16"},
    {"fp16", "f16"},
    {"bfloat16", "bf16"},
    {"bfloat", "bf16"},
    {"float", "f32"},
    {"float32", "f32"},
    {"fp32", "f32"},
    {"float64", "f64"},
    {"fp64", "f64"},
    {"double", "f64"},
    {"complex", "c64"},
    {"complex64", "c64"},
    {"complex128", "c128"},
    {"float8_e5m2", "f8e5m2"},
    {"float8_e4m3", "f8e4m3"},
    {"float8_e3m4", "f8e3m4"},
    {"float8_e4m3fn", "f8e4m3fn"},
    {"float8_e4m3b11fnuz", "f8e4m3b11fnuz"},
    {"float8_e4m3fnuz", "f8e4m3fnuz"},
    {"float8_e5m2fnuz", "f8e5m2fnuz"},
    {"float8_e8m0fnu", "f8e8m0fnu"},
    {"float4_e2m1fn", "f4e2m1fn"},
    {"fp8", "f8e4m3fn"},
};

}  // namespace

std::string_view ClosestElementType(std::string_view word) {
  const std::string lower = absl::AsciiStrToLower(absl::string_view(word.data(), word.size()));
  for (const Spelling& spelling : kSpellings) {
    if (spelling.word == lower) return spelling.type;
  }
  static const std::vector<std::string_view> types = {
#define HLO_ELEMENT_TYPE(name, text, bits, storage, type_class, number) text,
#include "hlo_run/element_types.def"
#undef HLO_ELEMENT_TYPE
  };
  const auto same = std::find(types.begin(), types.end(), lower);
  return same != types.end() ? *same : ClosestName(lower, types);
}

}  // namespace hlo::text
