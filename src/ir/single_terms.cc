#include "ir/single_terms.h"

#include <algorithm>

#include "ir/element_types.h"
#include "ir/result_shapes.h"

namespace hlo {
namespace {

bool HaveSizeOne(const Shape& shape, IntList dims) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return shape.dim(d) == 1; });
}

}  // namespace

bool ReducesSingleElements(const Instruction& reduce) {
  if (MixesTypes(reduce) || !HaveSizeOne(reduce.operand(0)->shape(), reduce.Get<attr::dimensions>()))
    return false;
  const Computation& code = *reduce.Get<attr::to_apply>();
  const auto results = static_cast<int64_t>(ResultShapes(reduce).size());
  for (int64_t k = 0; k < reduce.operand_count(); ++k) {
    if (!code.parameter(k)->shape().IsArray(reduce.operand(k % results)->shape().type())) return false;
  }
  return true;
}

bool IsSingleProduct(const Instruction& dot) {
  const ElementType type = dot.shape().type();
  return dot.operand_count() == 2 && (IsFloat(type) || IsComplex(type)) &&
         HaveSizeOne(dot.operand(0)->shape(), dot.Get<attr::lhs_contracting_dims>());
}

}  // namespace hlo
