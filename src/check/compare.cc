#include "check/compare.h"

#include <algorithm>

#include "base/counted.h"
#include "check/support.h"

namespace hlo::check {
namespace {

enum class Comparison : uint8_t { kDefault, kExact, kExactMinorToMajor, kInPlace, kCopy };

Comparison ComparisonOf(Opcode opcode) {
  if (opcode == Opcode::kDynamicUpdateSlice) return Comparison::kInPlace;
  if (opcode == Opcode::kCopy) return Comparison::kCopy;
  const OpcodeInfo& info = Info(opcode);
  if (info.has(kExactLayout)) return Comparison::kExact;
  return info.has(kExactMinorToMajor) ? Comparison::kExactMinorToMajor : Comparison::kDefault;
}

// A fast test for the usual case of two static arrays; false implies nothing.
bool AreStaticAndCompatible(const Shape& declared, const Shape& inferred, ElementType type) {
  return declared.kind() == inferred.kind() && declared.IsArray() && declared.type() == type &&
         declared.dims() == inferred.dims();
}

bool IsFusionBody(const Computation& computation) {
  for (const Computation* caller : computation.module()->computations()) {
    for (const Instruction* i : caller->instructions()) {
      if (i->opcode() != Opcode::kFusion) continue;
      const auto called = i->called_computations();
      if (std::find(called.begin(), called.end(), &computation) != called.end()) return true;
    }
  }
  return false;
}

// Compares the layouts of compatible shapes, as the comparison class requires.
bool LayoutsAgree(RuleContext& c, Comparison comparison, const Shape& declared, const Shape& inferred) {
  switch (comparison) {
    case Comparison::kDefault:
      return true;
    case Comparison::kExact:
      return Equal(declared, inferred, {});
    case Comparison::kExactMinorToMajor:
      return Equal(declared, inferred, {.minor_to_major_only = true});
    case Comparison::kInPlace:
      return Equal(declared, inferred, {}) ||
             (c.instruction().parent() && IsFusionBody(*c.instruction().parent()) &&
              Equal(declared, inferred, {.ignore_memory_space = true, .ignore_tiles = true}));
    case Comparison::kCopy:
      if (MemorySpace(inferred) == kHostMemory && MemorySpace(declared) != kHostMemory) {
        return Equal(declared, inferred, {.ignore_memory_space = true});
      }
      if (MemorySpace(declared) == kHostMemory && MemorySpace(inferred) != kHostMemory) {
        return declared.type() == inferred.type();
      }
      return true;
  }
  return true;
}

void ReportMismatch(RuleContext& c, const Shape& declared, const Shape& inferred, bool layouts) {
  const ShapePrintOptions print{.layouts = layouts};
  Diagnostic& diagnostic =
      c.Error(c.instruction().shape_range(), "3.1", "{} gives {}, but the instruction declares {}",
              Name(c.instruction().opcode()), ToString(inferred, print), ToString(declared, print));
  for (int64_t i = 0; i < std::min<int64_t>(c.operand_count(), 4); ++i) c.NoteOperand(diagnostic, i);
}

void CompareSlowly(RuleContext& c, const Shape& declared, const Shape& inferred) {
  const Comparison comparison = ComparisonOf(c.instruction().opcode());
  const bool exact = comparison == Comparison::kExact || comparison == Comparison::kExactMinorToMajor ||
                     comparison == Comparison::kInPlace;
  if (!Compatible(declared, inferred)) {
    if (exact || !CompatibleIgnoringFpPrecision(declared, inferred)) {
      ReportMismatch(c, declared, inferred, /*layouts=*/false);
      return;
    }
    c.MixedPrecision(c.instruction().shape_range(), "3.1", "{} gives {}, but the instruction declares {}",
                     Name(c.instruction().opcode()), Text(inferred), Text(declared));
  }
  if (c.options().layout_sensitive && !LayoutsAgree(c, comparison, declared, inferred)) {
    ReportMismatch(c, declared, inferred, /*layouts=*/true);
  }
}

bool MatchesOperands(const Shape& declared, absl::Span<Instruction* const> operands) {
  if (!declared.IsTuple() || declared.elements().size() != operands.size()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& operand = operands[i]->shape();
    if (!AreStaticAndCompatible(declared.element(i), operand, operand.type()) &&
        !Compatible(declared.element(i), operand)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Shape Materialize(const Inferred& inferred, const Shape& declared) {
  switch (inferred.form()) {
    case Inferred::Form::kFailed:
      return {};
    case Inferred::Form::kShape:
      return inferred.shape();
    case Inferred::Form::kDeclared:
      return declared;
    case Inferred::Form::kTupleOfOperands: {
      std::vector<Shape> elements;
      elements.reserve(inferred.operands().size());
      for (const Instruction* operand : inferred.operands()) elements.push_back(operand->shape());
      return Shape::Tuple(std::move(elements));
    }
    case Inferred::Form::kLike:
      break;
  }
  Shape shape = inferred.like();
  if (!shape.IsArray() || shape.type() == inferred.type()) return shape;
  shape.set_type(inferred.type());
  // An explicit element size is valid only for types narrower than a byte (shape-rules 1.4).
  if (shape.layout() && shape.layout()->element_size_in_bits != 0 && !IsSubByte(inferred.type())) {
    Layout layout = *shape.layout();
    layout.element_size_in_bits = 0;
    shape.set_layout(std::move(layout));
  }
  return shape;
}

void CompareWithDeclared(RuleContext& c, const Inferred& inferred) {
  const Shape& declared = c.declared();
  switch (inferred.form()) {
    case Inferred::Form::kFailed:
    case Inferred::Form::kDeclared:
      return;
    case Inferred::Form::kLike:
      if (!c.options().layout_sensitive && AreStaticAndCompatible(declared, inferred.like(), inferred.type()))
        return;
      if (inferred.like().IsArray() && inferred.like().type() != inferred.type()) break;
      return CompareSlowly(c, declared, inferred.like());
    case Inferred::Form::kTupleOfOperands:
      if (!c.options().layout_sensitive && MatchesOperands(declared, inferred.operands())) return;
      break;
    case Inferred::Form::kShape:
      if (!c.options().layout_sensitive &&
          AreStaticAndCompatible(declared, inferred.shape(), inferred.shape().type()))
        return;
      return CompareSlowly(c, declared, inferred.shape());
  }
  CompareSlowly(c, declared, Materialize(inferred, declared));
}

namespace {

// Stores the first float type; returns false at the first different one.
bool OneFloatType(const Shape& shape, const Shape** first) {
  if (shape.IsTuple()) {
    return std::all_of(shape.elements().begin(), shape.elements().end(),
                       [&](const Shape& element) { return OneFloatType(element, first); });
  }
  if (!shape.IsArray() || !IsFloat(shape.type())) return true;
  if (*first == nullptr) *first = &shape;
  return (*first)->type() == shape.type();
}

}  // namespace

void CheckMixedPrecision(RuleContext& c) {
  if (c.operand_count() < 2 && (c.operand_count() == 0 || c.operand(0).IsArray())) return;
  if (Info(c.instruction().opcode()).has(kMixesPrecision)) return;
  const Shape* first = nullptr;
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    if (OneFloatType(c.operand(i), &first)) continue;
    c.MixedPrecision(c.operand_range(i), "3.1", "{} mixes floating types: operand {} is {} beside {}",
                     Name(c.instruction().opcode()), i, Text(c.operand(i)), Name(first->type()));
    return;
  }
}

bool CheckForm(RuleContext& c) {
  const Instruction& instruction = c.instruction();
  const OpcodeInfo& info = Info(instruction.opcode());
  const int64_t count = instruction.operand_count();
  if (count < info.min_operands || count > info.max_operands || (info.has(kEvenOperands) && count % 2 != 0) ||
      (info.has(kOddOperands) && count % 2 == 0)) {
    c.Error({}, "3.0", "{} does not take {}", info.name, Counted(count, "operand"));
    return false;
  }
  for (const AttrUse& use : info.attributes) {
    if (use.required && instruction.Find(use.id) == nullptr) {
      c.Error({}, "3.0", "{} needs the attribute {}", info.name, Info(use.id).spelling);
      return false;
    }
  }
  return true;
}

namespace {

bool CheckLayout(RuleContext& c, const Shape& shape, SourceRange at) {
  constexpr std::string_view kRule = "1.4";
  const Layout& layout = *shape.layout();
  bool ok = true;
  auto fail = [&](std::string_view what) {
    c.Error(at, kRule, "the layout of {} is not valid: {}", ToString(shape, {.layouts = true}), what);
    ok = false;
  };
  uint64_t seen = 0;
  for (int64_t d : layout.minor_to_major) {
    if (InRange(d, shape.rank())) seen |= uint64_t{1} << d;
  }
  const uint64_t all = shape.rank() == 64 ? ~uint64_t{0} : (uint64_t{1} << shape.rank()) - 1;
  if (static_cast<int64_t>(layout.minor_to_major.size()) != shape.rank() || seen != all) {
    fail("minor_to_major must name each dimension once");
    return false;
  }
  for (const Tile& tile : layout.tiles) {
    if (tile.dimensions.empty()) fail("a tile has no dimensions");
    for (int64_t size : tile.dimensions) {
      if (size <= 0 && size != Tile::kCombine) fail("the sizes of a tile must be positive");
    }
  }
  if (layout.tail_padding_alignment_in_elements < 1) fail("L(n) must be at least 1");
  if (layout.index_type || layout.pointer_type) fail("index and pointer types belong to sparse layouts");
  if (layout.element_size_in_bits < 0) fail("E(n) must not be negative");
  if (layout.memory_space < 0) c.Warning(at, kRule, "memory space S({}) is negative", layout.memory_space);
  uint64_t split = 0;
  for (const SplitConfig& config : layout.split_configs) {
    if (!InRange(config.dimension, shape.rank()) || (split >> config.dimension & 1) != 0) {
      fail("each split names another dimension of the array");
      continue;
    }
    split |= uint64_t{1} << config.dimension;
    const int64_t logical = layout.minor_to_major[shape.rank() - 1 - config.dimension];
    int64_t last = 0;
    for (int64_t cut : config.split_indices) {
      if (cut <= last || (!shape.IsUnbounded(logical) && cut >= shape.dim(logical))) {
        fail("cuts must ascend between 0 and the size of their dimension");
        break;
      }
      last = cut;
    }
  }
  return ok;
}

}  // namespace

bool CheckShapeIsValid(RuleContext& c, const Shape& shape, SourceRange at) {
  if (shape.IsTuple()) {
    bool ok = true;
    for (const Shape& element : shape.elements()) ok &= CheckShapeIsValid(c, element, at);
    return ok;
  }
  if (!shape.IsArray() && !shape.IsBuffer()) return true;
  int64_t bytes = ByteCount(shape.type());
  bool overflow = false;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t size = shape.dim(i);
    if (size < 0 && (size != Shape::kUnbounded || !shape.IsDynamic(i))) {
      c.Error(at, "1.3", "sizes must not be negative: {}", Text(shape));
      return false;
    }
    if (size != Shape::kUnbounded && __builtin_mul_overflow(bytes, size, &bytes)) overflow = true;
  }
  if (overflow) {
    c.Error(at, "1.3", "{} has more bytes than 64 bits can count", Text(shape));
    return false;
  }
  return shape.layout() == nullptr || CheckLayout(c, shape, at);
}

}  // namespace hlo::check
