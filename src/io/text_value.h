#pragma once
// Values as HLO literal text, in files and in arguments.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "hlo_run/source_text.h"

namespace hlo::io {

// Whether the text begins with a shape, as `f32[2] {1,2}` and `(f32[] 1, s32[] 2)` do.
bool StartsWithShape(std::string_view text);
// Whether it begins as a literal without a shape does: `{{1,2},{3,4}}`, `-2.5`, `true`, `({1}, 2)`.
bool StartsWithElements(std::string_view text);

// A literal of the expected shape, with or without a shape of its own before it.
absl::StatusOr<Literal> ReadTextValue(const SourceText& text, const Shape& expected,
                                      const ReadOptions& options = {});

}  // namespace hlo::io
