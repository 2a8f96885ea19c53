// Targets that pick and order elements (semantics 9.3, 9.6).

#include "reference/custom/functions.h"

namespace hlo::reference::custom {

std::string NotTopK(const Instruction& call) {
  const bool fits =
      call.called_computations().size() == 1 && call.called_computations()[0]->parameters().size() >= 2;
  return fits ? "" : "TopK takes a comparator of two elements";
}

}  // namespace hlo::reference::custom
