#pragma once
// Reads values as HLO literal text from files and arguments.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "hlo_run/source_text.h"

namespace hlo::io {

// True if the text starts with a shape, such as `f32[2] {1,2}` and `(f32[] 1, s32[] 2)`.
bool StartsWithShape(std::string_view text);
// True if the text starts as a literal without a shape: `{{1,2},{3,4}}`, `-2.5`, `true`, `({1}, 2)`.
bool StartsWithElements(std::string_view text);

// Reads a literal of the expected shape; the text may begin with the shape.
absl::StatusOr<Literal> ReadTextValue(const SourceText& text, const Shape& expected,
                                      const ReadOptions& options = {});

}  // namespace hlo::io
