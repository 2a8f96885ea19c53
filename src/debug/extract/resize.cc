#include "debug/extract/resize.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/arena.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/check.h"
#include "hlo_run/print.h"
#include "types/shape_leaves.h"
#include "types/view.h"

namespace hlo::debug {
namespace {

void AddSizes(const Shape& shape, std::set<int64_t>& sizes) {
  for (const Shape& element : shape.elements()) AddSizes(element, sizes);
  sizes.insert(shape.dims().begin(), shape.dims().end());
}

// The module whose attributes are resized.
struct Editor {
  Module& module;
  const SizeMap& sizes;

  template <class A, class T>
  void Set(Instruction& instruction, const std::vector<T>& values) const {
    const absl::Span<const T> copy = module.arena().Copy(absl::MakeConstSpan(values));
    InstructionEditor::SetAttribute(module, instruction, A::kId, AttrValue::Of(copy));
  }

  template <class A>
  void ResizeNumber(Instruction& instruction) const {
    if (!instruction.Has<A>()) return;
    InstructionEditor::SetAttribute(module, instruction, A::kId, AttrValue::Of(sizes(instruction.Get<A>())));
  }

  std::vector<int64_t> Resized(IntList list) const {
    std::vector<int64_t> resized;
    for (const int64_t size : list) resized.push_back(sizes(size));
    return resized;
  }

  template <class A>
  void ResizeList(Instruction& instruction) const {
    if (instruction.Has<A>()) Set<A>(instruction, Resized(instruction.Get<A>()));
  }

  void ResizeLists(Instruction& instruction) const {
    if (!instruction.Has<attr::permute_slice_sizes>()) return;
    std::vector<IntList> lists;
    for (const IntList list : instruction.Get<attr::permute_slice_sizes>())
      lists.push_back(module.arena().Copy(absl::MakeConstSpan(Resized(list))));
    Set<attr::permute_slice_sizes>(instruction, lists);
  }

  void ResizeLayoutConstraints(Instruction& instruction) const {
    if (!instruction.Has<attr::operand_layout_constraints>()) return;
    std::vector<const Shape*> shapes;
    for (const Shape* shape : instruction.Get<attr::operand_layout_constraints>())
      shapes.push_back(module.arena().New<Shape>(sizes(*shape)));
    Set<attr::operand_layout_constraints>(instruction, shapes);
  }

  SliceRange Resized(const SliceRange& range) const {
    const int64_t limit = sizes(range.limit);
    if (range.start == 0) return {0, limit, range.stride};
    const int64_t start = sizes(range.start);
    return {start, limit != range.limit ? limit : start + sizes(range.limit - range.start), range.stride};
  }

  void ResizeSlice(Instruction& instruction) const {
    if (!instruction.Has<attr::slice>()) return;
    std::vector<SliceRange> ranges;
    for (const SliceRange& range : instruction.Get<attr::slice>()) ranges.push_back(Resized(range));
    Set<attr::slice>(instruction, ranges);
  }

  void ResizePadding(Instruction& instruction) const {
    if (!instruction.Has<attr::padding>()) return;
    std::vector<PaddingDim> padding;
    for (const PaddingDim& dim : instruction.Get<attr::padding>())
      padding.push_back({sizes.OfCount(dim.low), sizes.OfCount(dim.high), dim.interior});
    Set<attr::padding>(instruction, padding);
  }

  void ResizeWindow(Instruction& instruction) const {
    if (!instruction.Has<attr::window>()) return;
    std::vector<WindowDim> window;
    for (WindowDim dim : instruction.Get<attr::window>()) {
      if (dim.stride == dim.size) dim.stride = sizes(dim.stride);
      dim.size = sizes(dim.size);
      dim.padding_low = sizes.OfCount(dim.padding_low);
      dim.padding_high = sizes.OfCount(dim.padding_high);
      window.push_back(dim);
    }
    Set<attr::window>(instruction, window);
  }

  absl::Status ResizeLiteral(Instruction& instruction) const {
    const Literal* literal = instruction.Get<attr::literal>();
    if (literal == nullptr) return absl::OkStatus();
    const Shape shape = sizes(literal->shape());
    if (Equal(literal->shape(), shape, {.ignore_layout = true})) return absl::OkStatus();
    HLO_ASSIGN_OR_RETURN(Literal cut, LeadingPart(*literal, shape));
    const Literal* kept = module.arena().New<Literal>(std::move(cut));
    InstructionEditor::SetAttribute(module, instruction, AttrId::literal, AttrValue::Of(kept));
    return absl::OkStatus();
  }

  absl::Status ResizeInstruction(Instruction& instruction) const {
    HLO_RETURN_IF_ERROR(ResizeLiteral(instruction));
    InstructionEditor::SetShape(instruction, sizes(instruction.shape()));
    ResizeNumber<attr::batch_group_count>(instruction);
    ResizeNumber<attr::feature_group_count>(instruction);
    ResizeNumber<attr::k>(instruction);
    ResizeList<attr::dynamic_slice_sizes>(instruction);
    ResizeList<attr::fft_length>(instruction);
    ResizeList<attr::slice_sizes>(instruction);
    ResizeLists(instruction);
    ResizeLayoutConstraints(instruction);
    ResizeSlice(instruction);
    ResizePadding(instruction);
    ResizeWindow(instruction);
    return absl::OkStatus();
  }

  // Changes "known_trip_count":{"n":"32"} in the text of a loop's backend_config.
  void ResizeTripCount(Instruction& loop) const {
    const std::string text(loop.Get<attr::backend_config>().text);
    const size_t key = text.find("\"known_trip_count\"");
    if (key == std::string::npos) return;
    const size_t begin = text.find_first_of("0123456789", key);
    if (begin == std::string::npos) return;
    const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    int64_t count = 0;
    if (!absl::SimpleAtoi(text.substr(begin, end - begin), &count)) return;
    const std::string resized =
        fmt::format("{}{}{}", text.substr(0, begin), sizes.OfCount(count), text.substr(end));
    InstructionEditor::SetAttribute(
        module, loop, AttrId::backend_config,
        AttrValue::Of(attr_kind::Json{module.arena().Copy(std::string_view(resized))}));
  }

  template <class T>
  absl::StatusOr<bool> ResizeIntegers(Instruction& constant) const {
    const Literal& literal = *constant.Get<attr::literal>();
    const absl::Span<const T> before = literal.span<T>();
    const auto changes = [&](T value) { return value > 0 && sizes.OfCount(value) != value; };
    if (std::none_of(before.begin(), before.end(), changes)) return false;
    HLO_ASSIGN_OR_RETURN(Literal resized, Literal::Create(literal.shape()));
    std::transform(before.begin(), before.end(), resized.mutable_span<T>().begin(),
                   [&](T value) { return value > 0 ? static_cast<T>(sizes.OfCount(value)) : value; });
    const Literal* kept = module.arena().New<Literal>(std::move(resized));
    InstructionEditor::SetAttribute(module, constant, AttrId::literal, AttrValue::Of(kept));
    return true;
  }
};

}  // namespace

SizeMap::SizeMap(std::vector<NewSize> sizes, bool scales_multiples)
    : sizes_(std::move(sizes)), scales_multiples_(scales_multiples) {}

const NewSize* SizeMap::Find(int64_t size) const {
  const auto found =
      std::find_if(sizes_.begin(), sizes_.end(), [&](const NewSize& s) { return s.from == size; });
  return found == sizes_.end() ? nullptr : &*found;
}

int64_t SizeMap::operator()(int64_t size) const {
  if (const NewSize* exact = Find(size)) return exact->to;
  if (!scales_multiples_) return size;
  const NewSize* best = nullptr;
  for (const NewSize& candidate : sizes_) {
    const bool divides = candidate.from > 1 && size > candidate.from && size % candidate.from == 0;
    if (divides && (best == nullptr || candidate.from > best->from)) best = &candidate;
  }
  return best == nullptr ? size : size / best->from * best->to;
}

Shape SizeMap::operator()(const Shape& shape) const {
  return MapLeaves(shape, [this](const Shape& leaf) {
    Shape resized = leaf;
    if (!leaf.IsArray()) return resized;
    for (int64_t d = 0; d < leaf.rank(); ++d) resized.set_dim(d, (*this)(leaf.dim(d)), leaf.IsDynamic(d));
    return resized;
  });
}

int64_t SizeMap::OfCount(int64_t count) const {
  if (const int64_t resized = (*this)(count); resized != count || Find(count) != nullptr) return resized;
  const NewSize* next = Find(count + 1);
  return next == nullptr ? count : next->to - 1;
}

absl::StatusOr<std::vector<NewSize>> ParseNewSizes(const std::string& text) {
  std::vector<NewSize> sizes;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> numbers = absl::StrSplit(part, '=');
    NewSize size;
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &size.from) ||
        !absl::SimpleAtoi(numbers[1], &size.to)) {
      return absl::InvalidArgumentError(fmt::format("sizes are written as 1024=16,128=8, not '{}'", text));
    }
    if (size.to < 1 || size.to > size.from)
      return absl::InvalidArgumentError(fmt::format("the new size in '{}' must be 1 to {}", part, size.from));
    for (const NewSize& other : sizes) {
      if (other.from == size.from)
        return absl::InvalidArgumentError(fmt::format("'{}' has two new sizes for {}", text, size.from));
    }
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<int64_t> SizesOf(const Module& module) {
  std::set<int64_t> sizes;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) AddSizes(instruction->shape(), sizes);
  }
  return {sizes.begin(), sizes.end()};
}

absl::StatusOr<Literal> LeadingPart(const Literal& literal, const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      HLO_ASSIGN_OR_RETURN(elements.emplace_back(), LeadingPart(literal.elements()[i], shape.elements()[i]));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return literal;
  if (literal.data() == nullptr) return Literal::Elided(shape);
  HLO_ASSIGN_OR_RETURN(Literal cut, Literal::Create(shape));
  const View to = View::Dense(shape.dims());
  const View from = View::Dense(literal.dims()).Window(Index(shape.dims().size(), 0), to.dims);
  CopyElements(ByteCount(shape.type()), literal.data(), from, cut.mutable_data(), to);
  return cut;
}

absl::Status ResizeShapes(Module& module, const SizeMap& sizes) {
  const Editor editor{module, sizes};
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions())
      HLO_RETURN_IF_ERROR(editor.ResizeInstruction(*instruction));
  }
  if (const auto layout = module.header().entry_layout) {
    auto resized = std::make_shared<EntryLayout>(*layout);
    for (Shape& parameter : resized->parameters) parameter = sizes(parameter);
    resized->result = sizes(resized->result);
    module.mutable_header().entry_layout = std::move(resized);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ResizeConstants(Module& module, const SizeMap& sizes) {
  const Editor editor{module, sizes};
  int64_t count = 0;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kWhile) editor.ResizeTripCount(*instruction);
      const Literal* literal = instruction->Get<attr::literal>();
      if (literal == nullptr || !literal->shape().IsArray() || literal->data() == nullptr) continue;
      if (!Equal(literal->shape(), sizes(literal->shape()), {.ignore_layout = true})) continue;
      bool changed = false;
      if (literal->type() == ElementType::kS32) {
        HLO_ASSIGN_OR_RETURN(changed, editor.ResizeIntegers<int32_t>(*instruction));
      } else if (literal->type() == ElementType::kS64) {
        HLO_ASSIGN_OR_RETURN(changed, editor.ResizeIntegers<int64_t>(*instruction));
      }
      count += changed ? 1 : 0;
    }
  }
  return count;
}

absl::StatusOr<ResizedModule> ResizeModule(const std::shared_ptr<Module>& module,
                                           const std::vector<NewSize>& sizes) {
  const std::vector<int64_t> known = SizesOf(*module);
  for (const NewSize& size : sizes) {
    if (!std::binary_search(known.begin(), known.end(), size.from)) {
      return absl::InvalidArgumentError(
          fmt::format("no dimension has size {}; the sizes are {}", size.from, absl::StrJoin(known, " ")));
    }
  }
  const SizeMap map(sizes, /*scales_multiples=*/true);
  ResizedModule resized;
  HLO_ASSIGN_OR_RETURN(resized.constants, ResizeConstants(*module, map));
  HLO_RETURN_IF_ERROR(ResizeShapes(*module, map));
  Diagnostics diagnostics;
  if (!Check(module, diagnostics).ok()) {
    const absl::Status status = diagnostics.ToStatus(*module->source());
    return absl::InvalidArgumentError(
        fmt::format("{}\nnote: messages have the new sizes, and show the lines before the change. Change "
                    "further sizes, or keep one with SIZE=SIZE",
                    Message(status)));
  }
  PrintOptions print;
  print.own_order = true;
  resized.text = Print(*module, print);
  return resized;
}

}  // namespace hlo::debug
