#pragma once
// The parts of the page that shows a module: style sheet and scripts of cli/graph/.

#include "cli/rules.h"

namespace hlo::cli {
extern const EmbeddedFile kGraphPageFiles[];
}  // namespace hlo::cli
