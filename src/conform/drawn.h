#pragma once
// Diagnostics that are drawn under their line:
//     ROOT t = f32[2,3] transpose(a), dimensions={1,0}
//   //         ^~~~~~~~ error: transpose gives f32[3,2], but the instruction declares f32[2,3]
//   [shape-rules 3.9]
// In the first columns, which the slashes occupy, the form is `// column 1: error: …`; without a location, it
// is `// error: …`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/diagnostic.h"

namespace hlo::conform {

struct Drawing {
  int64_t line = 0;    // 1-based; 0 without a location.
  int64_t column = 0;  // 1-based.
  int64_t length = 0;  // The number of carets; 0 if they are not drawn.
  std::string text;    // `error: message`, optionally with the rule in brackets.
};

bool IsDrawn(std::string_view line);
// Parses a drawing. `line` is the number of the line above it.
Drawing ReadDrawing(std::string_view text, int64_t line);
std::string Draw(const Drawing& drawing);
Drawing DrawingOf(const Diagnostic& diagnostic, const SourceText& source);

// True if `drawn` matches `found`; it may omit the rule.
bool Shows(const Drawing& drawn, const Drawing& found);

}  // namespace hlo::conform
