#include "check/interface.h"

namespace hlo::check {
namespace {

bool FitsOrEmpty(const Shape& part, const Shape& whole) {
  return Compatible(part, whole) || (part.IsTuple() && part.elements().empty());
}

}  // namespace

bool IsPrefix(const Shape& part, const Shape& whole) {
  if (FitsOrEmpty(part, whole)) return true;
  if (!part.IsTuple() || !whole.IsTuple() || part.elements().size() > whole.elements().size()) return false;
  for (size_t i = 0; i < part.elements().size(); ++i) {
    if (!IsPrefix(part.element(i), whole.element(i))) return false;
  }
  return true;
}

}  // namespace hlo::check
