#pragma once
/// \file
/// Defines shapes: element type, dimensions and layout of an array, or a tuple of shapes (shape-rules section
/// 1).

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo_run/element_type.h"

#pragma GCC visibility push(default)
namespace hlo {

/// A tile of a tiled layout. kCombine (`*`) merges a dimension with the next more minor one.
struct Tile {
  static constexpr int64_t kCombine = std::numeric_limits<int64_t>::min();
  absl::InlinedVector<int64_t, 2> dimensions;
  bool operator==(const Tile&) const = default;
};

/// Splits a physical dimension (0 is the most major) at these indices.
struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> split_indices;
  bool operator==(const SplitConfig&) const = default;
};

/// The memory layout of an array (shape-rules 1.4).
struct Layout {
  absl::InlinedVector<int64_t, 6> minor_to_major;
  std::vector<Tile> tiles;
  int64_t tail_padding_alignment_in_elements = 1;
  std::optional<ElementType> index_type;
  std::optional<ElementType> pointer_type;
  int64_t element_size_in_bits = 0;  ///< 0 means the natural size.
  int64_t memory_space = 0;
  std::vector<SplitConfig> split_configs;
  int64_t dynamic_shape_metadata_prefix_bytes = 0;

  /// Returns {rank-1, ..., 1, 0} without annotations.
  static Layout Default(int64_t rank);
  bool IsDefault() const;
  bool HasAnnotations() const;
  bool operator==(const Layout&) const = default;
};

/// The type of a value. Shapes are cheap to copy.
class Shape {
 public:
  enum class Kind : uint8_t { kInvalid, kArray, kTuple, kToken, kOpaque, kBuffer };
  /// The size of an unbounded dynamic dimension (`?`).
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxRank = 64;

  Shape() = default;  ///< kInvalid: the shape is not known yet.
  static Shape Array(ElementType type, absl::Span<const int64_t> dims);
  static Shape Scalar(ElementType type) { return Array(type, {}); }
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token();
  static Shape Opaque();
  static Shape Buffer(Shape array);

  Kind kind() const { return kind_; }
  bool IsValid() const { return kind_ != Kind::kInvalid; }
  bool IsArray() const { return kind_ == Kind::kArray; }
  bool IsArray(ElementType type) const { return IsArray() && type_ == type; }
  bool IsTuple() const { return kind_ == Kind::kTuple; }
  bool IsToken() const { return kind_ == Kind::kToken; }
  bool IsOpaque() const { return kind_ == Kind::kOpaque; }
  bool IsBuffer() const { return kind_ == Kind::kBuffer; }
  bool IsScalar() const { return IsArray() && dims_.empty(); }
  bool IsScalar(ElementType type) const { return IsScalar() && type_ == type; }

  /// Element type and dimensions of an array, or of the array in a buffer.
  ElementType type() const { return type_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }  ///< The bound of a bounded dynamic dimension.
  bool IsDynamic(int64_t i) const { return (dynamic_ >> i & 1) != 0; }
  bool IsUnbounded(int64_t i) const { return dims_[i] == kUnbounded; }
  bool HasDynamicDim() const { return dynamic_ != 0; }
  bool HasUnboundedDim() const;
  void set_type(ElementType type) { type_ = type; }
  void set_dim(int64_t i, int64_t size, bool dynamic = false);
  void AppendDim(int64_t size, bool dynamic = false);
  /// Returns the product of the sizes, with bounds for dynamic dimensions; nullopt if it overflows or a
  /// dimension is unbounded.
  std::optional<int64_t> ElementCount() const;

  /// Returns nullptr for the default layout.
  const Layout* layout() const { return layout_.get(); }
  Layout LayoutOrDefault() const;
  void set_layout(Layout layout);  ///< A default layout is stored as nullptr.
  void set_layout(std::shared_ptr<const Layout> layout) { layout_ = std::move(layout); }
  const std::shared_ptr<const Layout>& shared_layout() const { return layout_; }
  void clear_layout() { layout_ = nullptr; }
  /// Returns the shape without layouts, also in its leaves.
  Shape WithoutLayouts() const;

  /// The elements of a tuple; a buffer has one element, its array.
  absl::Span<const Shape> elements() const;
  const Shape& element(int64_t i) const { return elements()[i]; }
  int64_t LeafCount() const;

  /// True if everything is equal, including layouts.
  bool operator==(const Shape& other) const;

 private:
  Kind kind_ = Kind::kInvalid;
  ElementType type_ = ElementType::kPred;
  uint64_t dynamic_ = 0;
  absl::InlinedVector<int64_t, 4> dims_;
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const std::vector<Shape>> elements_;
};

/// The differences that Equal ignores (shape-rules 1.8).
struct ShapeEquality {
  bool ignore_layout = false;
  bool minor_to_major_only = false;
  bool ignore_memory_space = false;
  bool ignore_tiles = false;
  bool ignore_element_size = false;
  bool ignore_element_type = false;
  bool ignore_fp_precision = false;
  bool ignore_dynamic = false;  ///< Dynamic flags are ignored, and `?` equals any size.
  bool ignore_buffer = false;
};
bool Equal(const Shape& a, const Shape& b, const ShapeEquality& relax);
/// True if structure, types and sizes are equal. Layouts and dynamic flags are ignored, and `?` matches any
/// size.
bool Compatible(const Shape& a, const Shape& b);
/// True if Compatible holds, apart from float types.
bool CompatibleIgnoringFpPrecision(const Shape& a, const Shape& b);
bool CompatibleIgnoringElementType(const Shape& a, const Shape& b);
bool SameDimensions(const Shape& a, const Shape& b);

/// Options for printing shapes, such as `f32[2,<=3]{1,0}`. `layouts` includes default layouts, as XLA prints
/// them.
struct ShapePrintOptions {
  bool layouts = false;
  bool index_comments = true;  ///< Prints `/*index=5*/` before every fifth tuple element.
};
void AppendShape(const Shape& shape, const ShapePrintOptions& options, std::string* out);
std::string ToString(const Shape& shape, const ShapePrintOptions& options = {});
/// Appends the layout with its braces.
void AppendLayout(const Layout& layout, std::string* out);

/// Returns the bytes of an array in this program's dense storage, or the sum over a tuple's leaves; nullopt
/// on overflow.
std::optional<int64_t> DenseByteCount(const Shape& shape);
/// Returns XLA's "shape size" in bytes (shape-rules 1.7), which honours E(n) and ignores tiles.
std::optional<int64_t> UnpaddedByteCount(const Shape& shape);

}  // namespace hlo
#pragma GCC visibility pop
