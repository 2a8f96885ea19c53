// Shape rules of opcodes that reshape or reorder elements (shape-rules 3.6).

#include "base/counted.h"
#include "check/interface.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kShapeOpsRule = "3.6";

// Returns the bits of an element in memory; pred takes 8.
int64_t StorageBits(ElementType type) { return IsPred(type) ? 8 : BitWidth(type); }

// Returns 8 for the 6-bit floats, which are stored in a byte.
int64_t BitcastBits(ElementType type) {
  const int64_t bits = StorageBits(type);
  return bits == 6 ? 8 : bits;
}

// Requires the same element type, except for float precision.
bool SameElements(RuleContext& c) {
  const ElementType from = c.operand(0).type(), to = c.declared().type();
  if (from == to) [[likely]]
    return true;
  const std::string_view name = Name(c.instruction().opcode());
  if (!SameFp(from, to)) {
    c.NoteOperand(c.Error(c.instruction().shape_range(), kShapeOpsRule,
                          "{} keeps the element type {}, but the instruction declares {}", name, Name(from),
                          Text(c.declared())),
                  0);
    return false;
  }
  c.MixedPrecision(c.instruction().shape_range(), kShapeOpsRule,
                   "{} keeps the element type {}, but the instruction declares {}", name, Name(from),
                   Text(c.declared()));
  return true;
}

bool DeclaresArray(RuleContext& c) {
  if (c.declared().IsArray()) [[likely]]
    return true;
  c.Error(c.instruction().shape_range(), kShapeOpsRule, "{} gives an array, but the instruction declares {}",
          Name(c.instruction().opcode()), Text(c.declared()));
  return false;
}

bool SameElementCount(RuleContext& c) {
  int64_t from = 0, to = 0;
  const bool fits = BoundProduct(c.operand(0), &from) && BoundProduct(c.declared(), &to);
  if (fits && from == to) [[likely]]
    return true;
  if (c.operand(0).HasUnboundedDim() || c.declared().HasUnboundedDim()) return true;
  c.NoteOperand(c.Error(c.instruction().shape_range(), kShapeOpsRule,
                        "{} keeps the number of elements: {} has {}, but the instruction declares {} with {}",
                        Name(c.instruction().opcode()), Text(c.operand(0)), from, Text(c.declared()), to),
                0);
  return false;
}

}  // namespace

Inferred BitcastConvert(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule) || !c.declared().IsValid())
    return c.declared().IsValid() ? Failed() : AsDeclared();
  if (!DeclaresArray(c)) return Failed();
  const Shape& x = c.operand(0);
  const ElementType from = x.type(), to = c.declared().type();
  if (IsComplex(from) != IsComplex(to)) {
    c.Error(c.instruction().shape_range(), kShapeOpsRule,
            "bitcast-convert does not go between complex and real: {} to {}", Name(from), Name(to));
    return Failed();
  }
  const int64_t from_bits = BitcastBits(from), to_bits = BitcastBits(to);
  if (from_bits == to_bits) return Like(x, to);
  const int64_t ratio = std::max(from_bits, to_bits) / std::min(from_bits, to_bits);
  if (std::max(from_bits, to_bits) % std::min(from_bits, to_bits) != 0) {
    c.Error(c.instruction().shape_range(), kShapeOpsRule, "{} bits do not divide into {} bits",
            std::max(from_bits, to_bits), std::min(from_bits, to_bits));
    return Failed();
  }
  Shape result = Shape::Scalar(to);
  const int64_t kept = from_bits > to_bits ? x.rank() : x.rank() - 1;
  if (from_bits < to_bits && (x.rank() == 0 || !SizesMatch(x.dim(kept), ratio))) {
    c.OperandError(0, kShapeOpsRule, "{} of {} make one {}, so the last dimension must be {}: {}",
                   Counted(ratio, "element"), Name(from), Name(to), ratio, Text(x));
    return Failed();
  }
  if (from_bits > to_bits && kept == Shape::kMaxRank) {
    c.OperandError(0, kShapeOpsRule, "the result would have more than {} dimensions", Shape::kMaxRank);
    return Failed();
  }
  for (int64_t i = 0; i < kept; ++i) result.AppendDim(x.dim(i), x.IsDynamic(i));
  if (from_bits > to_bits) result.AppendDim(ratio);
  return result;
}

// True for a constant and for copies of one.
static bool IsCopiedConstant(const Instruction* instruction) {
  while (instruction->opcode() == Opcode::kCopy && instruction->operand_count() == 1) {
    instruction = instruction->operand(0);
  }
  return instruction->opcode() == Opcode::kConstant;
}

// Returns the size of an array whose elements are packed; nullopt for other shapes, tiles, and elements that
// are stored in another width than their own.
std::optional<int64_t> PackedBytes(const Shape& shape) {
  int64_t count = 0;
  if (!shape.IsArray() || !BoundProduct(shape, &count)) return std::nullopt;
  if (const Layout* layout = shape.layout();
      layout != nullptr && (!layout->tiles.empty() || layout->element_size_in_bits != 0))
    return std::nullopt;
  int64_t bits = 0;
  if (__builtin_mul_overflow(count, StorageBits(shape.type()), &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

void WarnOfLargerBitcast(RuleContext& c) {
  const Shape& x = c.operand(0);
  const std::optional<int64_t> have = PackedBytes(x), need = PackedBytes(c.declared());
  if (!have || !need || *need <= *have) return;
  c.NoteOperand(c.Warning(c.instruction().shape_range(), kShapeOpsRule,
                          "the bitcast cannot be evaluated: {} needs {}, but {} has only {}",
                          Text(c.declared()), Counted(*need, "byte"), Text(x), *have),
                0);
}

// bitcast: any shape to any other; with layouts, of equal byte size and memory space.
Inferred Bitcast(RuleContext& c) {
  if (!c.declared().IsValid()) return AsDeclared();
  if (!c.options().layout_sensitive) {
    WarnOfLargerBitcast(c);
    return AsDeclared();
  }
  const Shape& x = c.operand(0);
  const std::optional<int64_t> from = UnpaddedByteCount(x), to = UnpaddedByteCount(c.declared());
  const SourceRange at = c.instruction().shape_range();
  if (from != to && from && to) {
    c.NoteOperand(c.Error(at, kShapeOpsRule, "bitcast keeps the bytes, but {} has {} and {} has {}",
                          LayoutText(x), *from, LayoutText(c.declared()), *to),
                  0);
  }
  if ((MemorySpace(x) == kHostMemory) != (MemorySpace(c.declared()) == kHostMemory) &&
      !IsCopiedConstant(c.instruction().operand(0))) {
    c.NoteOperand(c.Error(at, kShapeOpsRule, "bitcast does not leave or enter host memory: {} to {}",
                          LayoutText(x), LayoutText(c.declared())),
                  0);
  }
  return AsDeclared();
}

Inferred Reshape(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule)) return Failed();
  if (!c.declared().IsValid()) return AsDeclared();
  if (!DeclaresArray(c)) return Failed();
  SameElements(c);
  SameElementCount(c);
  if (c.operand(0).HasDynamicDim() != c.declared().HasDynamicDim()) {
    c.Warning(c.instruction().shape_range(), kShapeOpsRule, "only one of {} and {} has dynamic dimensions",
              Text(c.operand(0)), Text(c.declared()));
  }
  return AsDeclared();
}

Inferred DynamicReshape(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule)) return Failed();
  if (!c.declared().IsValid()) return AsDeclared();
  if (!DeclaresArray(c)) return Failed();
  SameElements(c);
  SameElementCount(c);
  const int64_t sizes = c.operand_count() - 1;
  if (sizes != c.declared().rank()) {
    c.Error({}, kShapeOpsRule, "dynamic-reshape takes one size for each dimension of {}, but has {}",
            Text(c.declared()), sizes);
  }
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    const Shape& size = c.operand(i);
    if (!size.IsArray(ElementType::kS32)) {
      c.OperandError(i, kShapeOpsRule, "a size is an s32 scalar, but operand {} is {}", i, Text(size));
    } else if (!size.IsScalar()) {
      c.Warning(c.operand_range(i), kShapeOpsRule, "a size is an s32 scalar, but operand {} is {}", i,
                Text(size));
    }
  }
  return AsDeclared();
}

// result[i] = operand[permutation[i]]. The layout is permuted as well, so that the data stay in place.
Inferred Transpose(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule)) return Failed();
  const Shape& x = c.operand(0);
  const IntList permutation = c.Get<attr::dimensions>();
  const SourceRange at = c.range_of<attr::dimensions>();
  if (static_cast<int64_t>(permutation.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kShapeOpsRule, "dimensions {} is not a permutation of the {} of {}",
                          Text(permutation), Counted(x.rank(), "dimension"), Text(x)),
                  0);
    return Failed();
  }
  if (!RequireDistinctDimensions(c, at, kShapeOpsRule, "dimensions", permutation, x.rank())) return Failed();
  Shape result = Shape::Scalar(x.type());
  for (int64_t d : permutation) result.AppendDim(x.dim(d), x.IsDynamic(d));
  if (!c.declared().IsValid()) {
    Layout layout = x.LayoutOrDefault();
    for (int64_t& d : layout.minor_to_major) {
      d = std::find(permutation.begin(), permutation.end(), d) - permutation.begin();
    }
    result.set_layout(std::move(layout));
  }
  return result;
}

Inferred Reverse(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule)) return Failed();
  if (!RequireDistinctDimensions(c, c.range_of<attr::dimensions>(), kShapeOpsRule, "dimensions",
                                 c.Get<attr::dimensions>(), c.operand(0).rank())) {
    return Failed();
  }
  return Like(c.operand(0));
}

// Operand dimension i becomes result dimension dimensions[i]; the other dimensions repeat the operand.
Inferred Broadcast(RuleContext& c) {
  if (!RequireArray(c, 0, kShapeOpsRule)) return Failed();
  const Shape& x = c.operand(0);
  const Shape& result = c.declared();
  const IntList dimensions = c.Get<attr::dimensions>();
  const SourceRange at = c.range_of<attr::dimensions>();
  if (!result.IsValid()) {
    if (x.rank() == 0 && dimensions.empty()) return Like(x);
    c.Error(at, kShapeOpsRule, "the result shape of broadcast must be written");
    return Failed();
  }
  if (!DeclaresArray(c) || !SameElements(c)) return Failed();
  if (static_cast<int64_t>(dimensions.size()) != x.rank()) {
    c.NoteOperand(c.Error(at, kShapeOpsRule, "dimensions {} must place the {} of {}", Text(dimensions),
                          Counted(x.rank(), "dimension"), Text(x)),
                  0);
    return Failed();
  }
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (!InRange(dimensions[i], result.rank())) {
      c.Error(at, kShapeOpsRule,
              "dimensions {} has {}, but its entries must be in [0, {}), the dimensions of {}",
              Text(dimensions), dimensions[i], result.rank(), Text(result));
    } else if (!SizesMatch(result.dim(dimensions[i]), x.dim(i))) {
      c.NoteOperand(
          c.Error(at, kShapeOpsRule,
                  "operand dimension {} of size {} becomes dimension {} of size {}; sizes of 1 do not expand",
                  i, SizeText(x.dim(i)), dimensions[i], SizeText(result.dim(dimensions[i]))),
          0);
    } else if (x.IsDynamic(i) != result.IsDynamic(dimensions[i])) {
      c.Warning(c.instruction().shape_range(), kShapeOpsRule,
                "dimension {} of {} becomes dimension {} of {}, but only one of them is dynamic", i, Text(x),
                dimensions[i], Text(result));
    }
  }
  return AsDeclared();
}

}  // namespace hlo::check
