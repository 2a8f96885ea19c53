#pragma once
// A value: an array with its elements, or a tuple of values.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/shape.h"

#pragma GCC visibility push(default)
namespace hlo {

// Bytes, aligned to 64 unless they are the caller's, counted by references; freed with the last one.
class Buffer {
 public:
  // ResourceExhausted when the limit of SetMemoryLimit or the machine's memory does not allow it. Not
  // cleared.
  static absl::StatusOr<std::shared_ptr<Buffer>> Allocate(int64_t byte_count);
  // Memory of the caller's, aligned to its elements, until `release` is called. Literals that share it are only read
  // as long as the caller keeps a reference to the buffer.
  static std::shared_ptr<Buffer> Wrap(const void* data, int64_t byte_count, std::function<void()> release);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t byte_count() const { return byte_count_; }

 private:
  Buffer(std::byte* data, int64_t byte_count) : data_(data), byte_count_(byte_count) {}
  std::byte* data_;
  int64_t byte_count_;
  std::function<void()> release_;  // Of wrapped memory.
};

// The most bytes that all buffers together may take; 0 means what the machine has: then up to 256 MiB of
// large blocks that are in use no more are kept for the next. Applies to later allocations.
void SetMemoryLimit(int64_t byte_count);
struct MemoryUse {
  int64_t current_bytes = 0;
  int64_t peak_bytes = 0;
};
MemoryUse BufferMemoryUse();
void ResetPeakMemoryUse();

// Elements lie dense in logical row-major order, whatever the shape's layout says; types narrower than a byte
// take a byte each. Copying shares the elements; MutableData unshares them.
class Literal {
 public:
  Literal() = default;  // No value: shape().IsValid() is false.

  // An array with undefined elements, or a tuple of such. Tokens and opaques hold nothing. Bounds stand for
  // dynamic sizes. InvalidArgument for unbounded sizes, ResourceExhausted when there is no memory.
  static absl::StatusOr<Literal> Create(const Shape& shape);
  static absl::StatusOr<Literal> CreateZeros(const Shape& shape);
  static Literal Tuple(std::vector<Literal> elements);
  static Literal Token();
  // Of a shape whose elements a dump has left out (`{...}`): no elements, data() is nullptr.
  static Literal Elided(Shape shape);
  // Shares an existing buffer, which must hold DenseByteCount(shape) bytes.
  static Literal FromBuffer(Shape shape, std::shared_ptr<Buffer> buffer);

  const Shape& shape() const { return shape_; }
  ElementType type() const { return shape_.type(); }
  int64_t rank() const { return shape_.rank(); }
  absl::Span<const int64_t> dims() const { return shape_.dims(); }
  int64_t dim(int64_t i) const { return shape_.dim(i); }
  int64_t element_count() const { return element_count_; }  // Arrays; bounds for dynamic sizes.
  int64_t byte_count() const { return element_count_ * ByteCount(type()); }

  const std::byte* data() const { return buffer_ ? buffer_->data() : nullptr; }
  // Elements to write to. They must not be shared: see MakeUnique.
  std::byte* mutable_data() { return buffer_ ? buffer_->data() : nullptr; }
  bool IsUnique() const;
  // Gives this literal elements of its own where others refer to them too (recursively for tuples).
  absl::Status MakeUnique();
  template <class T>
  absl::Span<const T> span() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(data()), static_cast<size_t>(element_count_));
  }
  template <class T>
  absl::Span<T> mutable_span() {
    return absl::Span<T>(reinterpret_cast<T*>(mutable_data()), static_cast<size_t>(element_count_));
  }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

  // Same elements under another shape of as many elements of the same width.
  Literal WithShape(Shape shape) const;

  absl::Span<const Literal> elements() const { return elements_; }  // Tuples.
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& element(int64_t i) const { return elements_[i]; }

  // Run-time size of a dimension: the bound unless set otherwise.
  int64_t dynamic_size(int64_t dim) const {
    return dynamic_sizes_.empty() ? shape_.dim(dim) : dynamic_sizes_[dim];
  }
  void set_dynamic_size(int64_t dim, int64_t size);
  bool has_dynamic_sizes() const { return !dynamic_sizes_.empty(); }

 private:
  Shape shape_;
  int64_t element_count_ = 0;
  std::shared_ptr<Buffer> buffer_;
  std::vector<Literal> elements_;
  std::vector<int64_t> dynamic_sizes_;
};

// HLO literal text (text-format 9.7).
struct LiteralPrintOptions {
  bool shapes = false;  // Write the shape before each array, as in `literal=`.
  bool layouts = true;     // And the layout with the shape.
  bool as_xla = false;  // -0 for negative zero, fixed digits: XLA's bytes rather than text that reads back.
  bool i_comments = true;     // `/*i0=0*/` in ranks of 4 and more.
  int64_t max_elements = -1;  // Larger arrays print as {...}; -1: no limit.
};
void AppendLiteral(const Literal& literal, const LiteralPrintOptions& options, std::string* out);
std::string ToString(const Literal& literal, const LiteralPrintOptions& options = {});
// One element, as AppendLiteral writes it; `in_array` is how pred decides between 1 and true.
void AppendElement(const Literal& literal, int64_t index, bool in_array, const LiteralPrintOptions& options,
                   std::string* out);

}  // namespace hlo
#pragma GCC visibility pop
