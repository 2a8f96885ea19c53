// Reductions of dimensions: all dimensions of one size shrink together, where the checker accepts the module.

#include <algorithm>
#include <set>

#include "base/arena.h"
#include "base/status.h"
#include "debug/reductions.h"
#include "types/view.h"

namespace hlo::debug {
namespace {

// Replaces the size `from` by `to`. With `multiples`, k * from becomes k * to, as reshapes need it.
struct Resizing {
  int64_t from, to;
  bool multiples;
  int64_t operator()(int64_t size) const {
    if (size == from) return to;
    return multiples && size > from && size % from == 0 ? size / from * to : size;
  }
};

Shape Resized(const Shape& shape, const Resizing& resizing) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Resized(element, resizing));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return shape;
  Shape resized = shape;
  for (int64_t d = 0; d < shape.rank(); ++d) resized.set_dim(d, resizing(shape.dim(d)), shape.IsDynamic(d));
  return resized;
}

// Returns the leading part of an array.
absl::StatusOr<Literal> Cut(const Literal& literal, const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      HLO_ASSIGN_OR_RETURN(elements.emplace_back(), Cut(literal.elements()[i], shape.elements()[i]));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray() || literal.data() == nullptr) return absl::InvalidArgumentError("no elements");
  HLO_ASSIGN_OR_RETURN(Literal cut, Literal::Create(shape));
  const View to = View::Dense(shape.dims());
  const View from = View::Dense(literal.dims()).Window(Index(shape.dims().size(), 0), to.dims);
  CopyElements(ByteCount(shape.type()), literal.data(), from, cut.mutable_data(), to);
  return cut;
}

template <class A>
void ResizeList(Module& module, Instruction& instruction, const Resizing& resizing) {
  if (!instruction.Has<A>()) return;
  std::vector<int64_t> sizes;
  for (const int64_t size : instruction.Get<A>()) sizes.push_back(resizing(size));
  const IntList list = module.arena().Copy(absl::MakeConstSpan(sizes));
  InstructionEditor::SetAttribute(module, instruction, A::kId, AttrValue::Of(list));
}

void ResizeSlice(Module& module, Instruction& instruction, const Resizing& resizing) {
  if (!instruction.Has<attr::slice>()) return;
  std::vector<SliceRange> ranges;
  for (const SliceRange& range : instruction.Get<attr::slice>()) {
    const int64_t length = resizing(range.limit - range.start);
    const int64_t start = resizing(range.start);
    ranges.push_back(range.start == 0 ? SliceRange{0, resizing(range.limit), range.stride}
                                      : SliceRange{start, start + length, range.stride});
  }
  const attr_kind::SliceList list = module.arena().Copy(absl::MakeConstSpan(ranges));
  InstructionEditor::SetAttribute(module, instruction, AttrId::slice, AttrValue::Of(list));
}

absl::Status ResizeConstant(Module& module, Instruction& instruction, const Shape& shape) {
  const Literal* literal = instruction.Get<attr::literal>();
  if (literal == nullptr || Equal(literal->shape(), shape, {.ignore_layout = true})) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(Literal cut, Cut(*literal, shape));
  const Literal* kept = module.arena().New<Literal>(std::move(cut));
  InstructionEditor::SetAttribute(module, instruction, AttrId::literal, AttrValue::Of(kept));
  return absl::OkStatus();
}

absl::StatusOr<SharedCase> WithSizes(const TestCase& test, const Resizing& resizing) {
  const std::shared_ptr<Module> module = CopyModule(test);
  for (Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      const Shape shape = Resized(instruction->shape(), resizing);
      HLO_RETURN_IF_ERROR(ResizeConstant(*module, *instruction, shape));
      InstructionEditor::SetShape(*instruction, shape);
      ResizeList<attr::dynamic_slice_sizes>(*module, *instruction, resizing);
      ResizeList<attr::slice_sizes>(*module, *instruction, resizing);
      ResizeSlice(*module, *instruction, resizing);
    }
  }
  std::vector<Literal> inputs;
  for (const Literal& input : test.inputs) {
    HLO_ASSIGN_OR_RETURN(inputs.emplace_back(), Cut(input, Resized(input.shape(), resizing)));
  }
  return MakeTestCase(module, inputs);
}

void AddSizes(const Shape& shape, std::set<int64_t>& sizes) {
  for (const Shape& element : shape.elements()) AddSizes(element, sizes);
  for (const int64_t size : shape.dims()) {
    if (size > 1) sizes.insert(size);
  }
}

}  // namespace

std::vector<Proposal> ProposeSmallerShapes(const SharedCase& test) {
  std::set<int64_t> sizes;
  for (const Computation* computation : test->module.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) AddSizes(instruction->shape(), sizes);
  }
  std::vector<Proposal> proposals;
  for (auto from = sizes.rbegin(); from != sizes.rend(); ++from) {
    std::set<int64_t> smaller;
    for (const int64_t to : {int64_t{1}, int64_t{2}, *from / 8, *from / 2, *from - 1}) {
      if (to >= 1 && to < *from) smaller.insert(to);
    }
    for (const int64_t to : smaller) {
      for (const bool multiples : {true, false}) {
        const Resizing resizing = {*from, to, multiples};
        proposals.push_back([=] { return WithSizes(*test, resizing); });
      }
    }
  }
  return proposals;
}

}  // namespace hlo::debug
