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

// An expected or found diagnostic in this form.
struct DrawnDiagnostic {
  int64_t line = 0;    // 1-based; 0 without a location.
  int64_t column = 0;  // 1-based.
  int64_t length = 0;  // The number of carets; 0 if they are not drawn.
  std::string text;    // `error: message`, optionally with the rule in brackets.
};

// True if the line of a case is a drawn diagnostic.
bool IsDrawnDiagnostic(std::string_view line);
// Parses a drawn diagnostic. `line` is the number of the line above it.
DrawnDiagnostic ReadDrawnDiagnostic(std::string_view text, int64_t line);
std::string Draw(const DrawnDiagnostic& drawing);
DrawnDiagnostic DrawnDiagnosticOf(const Diagnostic& diagnostic, const SourceText& source);

// True if the drawn diagnostic matches the found one; the drawn one may omit the rule.
bool Matches(const DrawnDiagnostic& drawn, const DrawnDiagnostic& found);

}  // namespace hlo::conform
