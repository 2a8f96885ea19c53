#pragma once
// Diagnostics drawn under the line that they are about:
//     ROOT t = f32[2,3] transpose(a), dimensions={1,0}
//   //         ^~~~~~~~ error: transpose gives f32[3,2], but the instruction declares f32[2,3]
//   [shape-rules 3.9]
// Where the carets would hide behind the slashes: `// column 1: error: …`; without a place: `// error: …`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/diagnostic.h"

namespace hlo::conform {

struct Drawing {
  int64_t line = 0;    // From 1; 0 without a place.
  int64_t column = 0;  // From 1.
  int64_t length = 0;  // Carets; 0 where they are not drawn.
  std::string text;    // `error: message`, perhaps with the rule in brackets.
};

bool IsDrawn(std::string_view line);
// `line` is the number of the line that it stands under.
Drawing ReadDrawing(std::string_view text, int64_t line);
std::string Draw(const Drawing& drawing);
Drawing DrawingOf(const Diagnostic& diagnostic, const SourceText& source);

// Whether `drawn` shows `found`; it may leave the rule out.
bool Shows(const Drawing& drawn, const Drawing& found);

}  // namespace hlo::conform
