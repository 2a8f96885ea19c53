#include "reference/native_value.h"

#include <cstring>
#include <utility>

#include "base/status.h"
#include "types/physical_layout.h"

namespace hlo::reference {
namespace {

bool IsInMemory(const Shape& shape) { return shape.IsArray() || shape.IsBuffer(); }
const Shape& WrappedArray(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

}  // namespace

absl::StatusOr<NativeValue> NativeValue::Make(const Literal& value, const Shape& shape) {
  NativeValue result;
  result.shape_ = shape;
  if (shape.IsTuple()) {
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      HLO_ASSIGN_OR_RETURN(NativeValue element, Make(value.element(i), shape.element(i)));
      result.elements_.push_back(std::move(element));
    }
    for (NativeValue& element : result.elements_) result.pointers_.push_back(element.data());
  } else if (IsInMemory(shape)) {
    HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(WrappedArray(shape)));
    HLO_ASSIGN_OR_RETURN(result.bytes_, Buffer::Allocate(layout.byte_count()));
    std::memset(result.bytes_->data(), 0, layout.byte_count());
    layout.Store(value.data(), result.bytes_->data() + layout.prefix_byte_count());
  }
  return result;
}

void* NativeValue::data() {
  if (!elements_.empty()) return pointers_.data();
  return bytes_ == nullptr ? nullptr : static_cast<void*>(bytes_->data());
}

void NativeValue::CollectLeaves(std::vector<NativeValue*>* out) {
  if (!shape_.IsTuple()) out->push_back(this);
  for (NativeValue& element : elements_) element.CollectLeaves(out);
}

absl::StatusOr<Literal> NativeValue::Read() const {
  if (IsInMemory(shape_)) {
    HLO_ASSIGN_OR_RETURN(const PhysicalLayout layout, PhysicalLayout::Of(WrappedArray(shape_)));
    HLO_ASSIGN_OR_RETURN(Literal value, Literal::Create(WrappedArray(shape_)));
    layout.Load(bytes_->data() + layout.prefix_byte_count(), value.mutable_data());
    return value.WithShape(shape_);
  }
  if (!shape_.IsTuple()) return Literal::Create(shape_);
  std::vector<Literal> elements;
  for (const NativeValue& part : elements_) {
    HLO_ASSIGN_OR_RETURN(Literal element, part.Read());
    elements.push_back(std::move(element));
  }
  return Literal::Tuple(std::move(elements));
}

const Shape& OperandInMemory(const Instruction& call, size_t i) {
  const auto constraints = call.Get<attr::operand_layout_constraints>();
  return i < constraints.size() ? *constraints[i] : call.operand(i)->shape();
}

}  // namespace hlo::reference
