#pragma once
// What is a value's type: element type, sizes, layout, or a tuple of such? Rules: shape-rules section 1.

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

// One tile of a tiled layout; kCombine (`*`) joins a dimension with the next more minor one.
struct Tile {
  static constexpr int64_t kCombine = std::numeric_limits<int64_t>::min();
  absl::InlinedVector<int64_t, 2> dimensions;
  bool operator==(const Tile&) const = default;
};

// Physical dimension (0 = most major) and the indices at which it is cut.
struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> split_indices;
  bool operator==(const SplitConfig&) const = default;
};

// How an array lies in memory. Meaning and validity: shape-rules 1.4.
struct Layout {
  absl::InlinedVector<int64_t, 6> minor_to_major;
  std::vector<Tile> tiles;
  int64_t tail_padding_alignment_in_elements = 1;
  std::optional<ElementType> index_type;
  std::optional<ElementType> pointer_type;
  int64_t element_size_in_bits = 0;  // 0: natural size.
  int64_t memory_space = 0;
  std::vector<SplitConfig> split_configs;
  int64_t dynamic_shape_metadata_prefix_bytes = 0;

  // {rank-1, ..., 1, 0} without annotations.
  static Layout Default(int64_t rank);
  bool IsDefault() const;
  bool HasAnnotations() const;
  bool operator==(const Layout&) const = default;
};

class Shape {
 public:
  enum class Kind : uint8_t { kInvalid, kArray, kTuple, kToken, kOpaque, kBuffer };
  // Size of an unbounded dynamic dimension (`?`).
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxRank = 64;

  Shape() = default;  // kInvalid: "not known yet".
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

  // Arrays. A buffer answers for the array that it wraps.
  ElementType type() const { return type_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }  // The bound where the dimension is bounded dynamic.
  bool IsDynamic(int64_t i) const { return (dynamic_ >> i & 1) != 0; }
  bool IsUnbounded(int64_t i) const { return dims_[i] == kUnbounded; }
  bool HasDynamicDim() const { return dynamic_ != 0; }
  bool HasUnboundedDim() const;
  void set_type(ElementType type) { type_ = type; }
  void set_dim(int64_t i, int64_t size, bool dynamic = false);
  void AppendDim(int64_t size, bool dynamic = false);
  // All sizes multiplied (bounds for dynamic ones); nullopt when it does not fit int64 or a size is
  // unbounded.
  std::optional<int64_t> ElementCount() const;

  // nullptr means the default layout.
  const Layout* layout() const { return layout_.get(); }
  Layout LayoutOrDefault() const;
  void set_layout(Layout layout);  // A default layout is stored as nullptr.
  void set_layout(std::shared_ptr<const Layout> layout) { layout_ = std::move(layout); }
  const std::shared_ptr<const Layout>& shared_layout() const { return layout_; }
  void clear_layout() { layout_ = nullptr; }
  // Without the layouts of all leaves.
  Shape WithoutLayouts() const;

  // Tuples; a buffer has one element, its array.
  absl::Span<const Shape> elements() const;
  const Shape& element(int64_t i) const { return elements()[i]; }
  int64_t LeafCount() const;

  // Equal in everything, layouts included.
  bool operator==(const Shape& other) const;

 private:
  Kind kind_ = Kind::kInvalid;
  ElementType type_ = ElementType::kPred;
  uint64_t dynamic_ = 0;
  absl::InlinedVector<int64_t, 4> dims_;
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const std::vector<Shape>> elements_;
};

// What Equal may overlook (shape-rules 1.8).
struct ShapeEquality {
  bool ignore_layout = false;
  bool minor_to_major_only = false;
  bool ignore_memory_space = false;
  bool ignore_tiles = false;
  bool ignore_element_size = false;
  bool ignore_element_type = false;
  bool ignore_fp_precision = false;
  bool ignore_dynamic = false;  // Flags are not compared, and `?` equals any size.
  bool ignore_buffer = false;
};
bool Equal(const Shape& a, const Shape& b, const ShapeEquality& relax);
// Same structure, types and sizes; layouts and dynamic flags ignored, `?` fits every size.
bool Compatible(const Shape& a, const Shape& b);
// As Compatible, and floating types may differ.
bool CompatibleIgnoringFpPrecision(const Shape& a, const Shape& b);
bool CompatibleIgnoringElementType(const Shape& a, const Shape& b);
bool SameDimensions(const Shape& a, const Shape& b);

// `f32[2,<=3]{1,0}`; layouts (default ones too, as XLA prints them) only when asked for.
struct ShapePrintOptions {
  bool layouts = false;
  bool index_comments = true;  // `/*index=5*/` before every fifth element of a tuple.
};
void AppendShape(const Shape& shape, const ShapePrintOptions& options, std::string* out);
std::string ToString(const Shape& shape, const ShapePrintOptions& options = {});
// The text between and including the braces.
void AppendLayout(const Layout& layout, std::string* out);

// Bytes of one array in dense storage as this program keeps it; nullopt on overflow. Tuples: sum over their
// leaves.
std::optional<int64_t> DenseByteCount(const Shape& shape);
// XLA's "shape size" (shape-rules 1.7): honours E(n), ignores tiles.
std::optional<int64_t> UnpaddedByteCount(const Shape& shape);

}  // namespace hlo
#pragma GCC visibility pop
