#include "hlo_run/shape.h"

#include <algorithm>

#include "base/check.h"

namespace hlo {

Layout Layout::Default(int64_t rank) {
  Layout layout;
  for (int64_t d = rank - 1; d >= 0; --d) layout.minor_to_major.push_back(d);
  return layout;
}

bool Layout::HasAnnotations() const {
  return !tiles.empty() || tail_padding_alignment_in_elements != 1 || index_type || pointer_type ||
         element_size_in_bits != 0 || memory_space != 0 || !split_configs.empty() ||
         dynamic_shape_metadata_prefix_bytes != 0;
}

bool Layout::IsDefault() const {
  const auto rank = static_cast<int64_t>(minor_to_major.size());
  for (int64_t k = 0; k < rank; ++k) {
    if (minor_to_major[k] != rank - 1 - k) return false;
  }
  return !HasAnnotations();
}

Shape Shape::Array(ElementType type, absl::Span<const int64_t> dims) {
  Shape shape;
  shape.kind_ = Kind::kArray;
  shape.type_ = type;
  shape.dims_.assign(dims.begin(), dims.end());
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.kind_ = Kind::kTuple;
  if (!elements.empty()) shape.elements_ = std::make_shared<const std::vector<Shape>>(std::move(elements));
  return shape;
}

Shape Shape::Token() {
  Shape shape;
  shape.kind_ = Kind::kToken;
  return shape;
}

Shape Shape::Opaque() {
  Shape shape;
  shape.kind_ = Kind::kOpaque;
  return shape;
}

Shape Shape::Buffer(Shape array) {
  Shape shape = array;
  shape.kind_ = Kind::kBuffer;
  std::vector<Shape> elements;
  elements.push_back(std::move(array));
  shape.elements_ = std::make_shared<const std::vector<Shape>>(std::move(elements));
  return shape;
}

bool Shape::HasUnboundedDim() const {
  return std::find(dims_.begin(), dims_.end(), kUnbounded) != dims_.end();
}

void Shape::set_dim(int64_t i, int64_t size, bool dynamic) {
  dims_[i] = size;
  const uint64_t bit = uint64_t{1} << i;
  dynamic_ = dynamic ? dynamic_ | bit : dynamic_ & ~bit;
}

void Shape::AppendDim(int64_t size, bool dynamic) {
  HLO_CHECK(rank() < kMaxRank);
  dims_.push_back(size);
  set_dim(rank() - 1, size, dynamic);
}

std::optional<int64_t> Shape::ElementCount() const {
  int64_t count = 1;
  bool overflow = false;
  for (int64_t size : dims_) {
    if (size == 0) return 0;
    if (size == kUnbounded || __builtin_mul_overflow(count, size, &count)) overflow = true;
  }
  if (overflow) return std::nullopt;
  return count;
}

Layout Shape::LayoutOrDefault() const { return layout_ ? *layout_ : Layout::Default(rank()); }

void Shape::set_layout(Layout layout) {
  layout_ = layout.IsDefault() ? nullptr : std::make_shared<const Layout>(std::move(layout));
}

Shape Shape::WithoutLayouts() const {
  if (kind_ == Kind::kBuffer) return Buffer(element(0).WithoutLayouts());
  if (kind_ == Kind::kTuple) {
    std::vector<Shape> stripped;
    stripped.reserve(elements().size());
    for (const Shape& element : elements()) stripped.push_back(element.WithoutLayouts());
    return Tuple(std::move(stripped));
  }
  Shape shape = *this;
  shape.layout_ = nullptr;
  return shape;
}

absl::Span<const Shape> Shape::elements() const {
  if (!elements_) return {};
  return *elements_;
}

int64_t Shape::LeafCount() const {
  if (kind_ != Kind::kTuple) return 1;
  int64_t count = 0;
  for (const Shape& element : elements()) count += element.LeafCount();
  return count;
}

namespace {

bool LayoutsEqual(const Shape& a, const Shape& b, const ShapeEquality& relax) {
  if (a.shared_layout() == b.shared_layout()) return true;
  Layout x = a.LayoutOrDefault();
  Layout y = b.LayoutOrDefault();
  // The dynamic metadata prefix is not compared.
  x.dynamic_shape_metadata_prefix_bytes = y.dynamic_shape_metadata_prefix_bytes = 0;
  if (relax.minor_to_major_only) return x.minor_to_major == y.minor_to_major;
  if (relax.ignore_memory_space) x.memory_space = y.memory_space;
  if (relax.ignore_tiles) x.tiles = y.tiles;
  if (relax.ignore_element_size) x.element_size_in_bits = y.element_size_in_bits;
  return x == y;
}

bool TypesEqual(ElementType a, ElementType b, const ShapeEquality& relax) {
  return a == b || relax.ignore_element_type || (relax.ignore_fp_precision && IsFloat(a) && IsFloat(b));
}

}  // namespace

bool Equal(const Shape& a, const Shape& b, const ShapeEquality& relax) {
  if (relax.ignore_buffer) {
    if (a.IsBuffer()) return Equal(a.element(0), b, relax);
    if (b.IsBuffer()) return Equal(a, b.element(0), relax);
  }
  if (a.kind() != b.kind()) return false;
  if (a.IsTuple()) {
    if (a.elements().size() != b.elements().size()) return false;
    for (size_t i = 0; i < a.elements().size(); ++i) {
      if (!Equal(a.element(i), b.element(i), relax)) return false;
    }
    return true;
  }
  if (!a.IsArray() && !a.IsBuffer()) return true;
  if (a.rank() != b.rank() || !TypesEqual(a.type(), b.type(), relax)) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (relax.ignore_dynamic) {
      if (a.dim(i) != b.dim(i) && !a.IsUnbounded(i) && !b.IsUnbounded(i)) return false;
    } else if (a.dim(i) != b.dim(i) || a.IsDynamic(i) != b.IsDynamic(i)) {
      return false;
    }
  }
  return relax.ignore_layout || LayoutsEqual(a, b, relax);
}

bool Shape::operator==(const Shape& other) const { return Equal(*this, other, {}); }

bool Compatible(const Shape& a, const Shape& b) {
  return Equal(a, b, {.ignore_layout = true, .ignore_dynamic = true});
}
bool CompatibleIgnoringFpPrecision(const Shape& a, const Shape& b) {
  return Equal(a, b, {.ignore_layout = true, .ignore_fp_precision = true, .ignore_dynamic = true});
}
bool CompatibleIgnoringElementType(const Shape& a, const Shape& b) {
  return Equal(a, b, {.ignore_layout = true, .ignore_element_type = true, .ignore_dynamic = true});
}
bool SameDimensions(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i) && !a.IsUnbounded(i) && !b.IsUnbounded(i)) return false;
  }
  return true;
}

namespace {

std::optional<int64_t> SumOverLeaves(const Shape& shape, std::optional<int64_t> (*size_of)(const Shape&)) {
  int64_t total = 0;
  for (const Shape& element : shape.elements()) {
    const std::optional<int64_t> size = size_of(element);
    if (!size || __builtin_add_overflow(total, *size, &total)) return std::nullopt;
  }
  return total;
}

}  // namespace

std::optional<int64_t> DenseByteCount(const Shape& shape) {
  if (shape.IsTuple() || shape.IsBuffer()) return SumOverLeaves(shape, DenseByteCount);
  if (!shape.IsArray()) return 0;
  std::optional<int64_t> count = shape.ElementCount();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, ByteCount(shape.type()), &bytes)) return std::nullopt;
  return bytes;
}

std::optional<int64_t> UnpaddedByteCount(const Shape& shape) {
  if (shape.IsTuple() || shape.IsBuffer()) return SumOverLeaves(shape, UnpaddedByteCount);
  if (!shape.IsArray() || !shape.layout() || shape.layout()->element_size_in_bits == 0)
    return DenseByteCount(shape);
  std::optional<int64_t> count = shape.ElementCount();
  int64_t bits = 0;
  if (!count || __builtin_mul_overflow(*count, shape.layout()->element_size_in_bits, &bits))
    return std::nullopt;
  return bits / 8 + (bits % 8 != 0);
}

}  // namespace hlo
