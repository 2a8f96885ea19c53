#include "io/text_value.h"

#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/parse.h"
#include "io/stored_type.h"
#include "types/bounds.h"

namespace hlo::io {

bool StartsWithShape(std::string_view text) {
  const size_t begin = text.find_first_not_of("( \t\r\n");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  const size_t bracket = text.find('[');
  return bracket != std::string_view::npos && ParseElementType(text.substr(0, bracket)).has_value();
}

namespace {

bool FitsBounds(const Shape& found, const Shape& expected) {
  return found.IsArray(expected.type()) && expected.IsArray() && !expected.HasUnboundedDim() &&
         DimsFit(found.dims(), expected);
}

}  // namespace

absl::StatusOr<Literal> ReadTextValue(const SourceText& text, const Shape& expected) {
  if (!StartsWithShape(text.content())) return ParseLiteral(text, expected);
  HLO_ASSIGN_OR_RETURN(Literal value, ParseLiteral(text, Shape()));
  if (expected.HasDynamicDim() && !value.shape().HasDynamicDim() && FitsBounds(value.shape(), expected))
    return WithinBounds(value, expected);
  if (!Equal(value.shape(), expected, {.ignore_layout = true, .ignore_dynamic = true})) {
    return absl::FailedPreconditionError(
        fmt::format("{}: found {}, expected {}", text.name(), ToString(value.shape()), ToString(expected)));
  }
  return value;
}

}  // namespace hlo::io
