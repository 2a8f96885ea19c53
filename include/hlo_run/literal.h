#pragma once
/// \file
/// Defines values: arrays with their elements, and tuples of values.

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

/// A reference-counted block of bytes. Its alignment is 64 bytes unless it wraps memory of the caller.
class Buffer {
 public:
  /// Allocates uninitialised bytes. Returns ResourceExhausted beyond the limit of SetMemoryLimit or the
  /// machine's memory.
  static absl::StatusOr<std::shared_ptr<Buffer>> Allocate(int64_t byte_count);
  /// Wraps the caller's memory, which must be aligned for its elements and valid until `release` is called.
  /// Literals that share it are read-only while the caller holds a reference to the buffer.
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
  std::function<void()> release_;  ///< Called by the destructor if the memory is wrapped.
};

/// Limits the total size of all buffers in bytes, for later allocations. 0 means the memory of the machine;
/// up to 256 MiB of freed large blocks are then cached for reuse.
void SetMemoryLimit(int64_t byte_count);
/// The total size of all buffers in bytes, at present and at its peak.
struct MemoryUse {
  int64_t current_bytes = 0;
  int64_t peak_bytes = 0;
};
MemoryUse BufferMemoryUse();
void ResetPeakMemoryUse();

/// A value. Elements are dense and in row-major order, whatever the shape's layout; types narrower than a
/// byte take one byte each. Copies share the elements; MakeUnique unshares them.
class Literal {
 public:
  Literal() = default;  ///< No value: shape().IsValid() is false.

  /// Returns an array with uninitialised elements, or a tuple of such arrays. Tokens and opaques have no
  /// elements. Bounded dynamic dimensions are allocated at their bounds. Errors: InvalidArgument for
  /// unbounded dimensions, ResourceExhausted if memory is short.
  static absl::StatusOr<Literal> Create(const Shape& shape);
  static absl::StatusOr<Literal> CreateZeros(const Shape& shape);
  static Literal Tuple(std::vector<Literal> elements);
  static Literal Token();
  /// Returns a literal whose elements a dump elided (`{...}`): data() is nullptr.
  static Literal Elided(Shape shape);
  /// Shares a buffer, which must hold DenseByteCount(shape) bytes.
  static Literal FromBuffer(Shape shape, std::shared_ptr<Buffer> buffer);

  const Shape& shape() const { return shape_; }
  ElementType type() const { return shape_.type(); }
  int64_t rank() const { return shape_.rank(); }
  absl::Span<const int64_t> dims() const { return shape_.dims(); }
  int64_t dim(int64_t i) const { return shape_.dim(i); }
  int64_t element_count() const { return element_count_; }  ///< Arrays only; uses bounds.
  int64_t byte_count() const { return element_count_ * ByteCount(type()); }

  const std::byte* data() const { return buffer_ ? buffer_->data() : nullptr; }
  /// Returns the elements for writing. They must not be shared: see MakeUnique.
  std::byte* mutable_data() { return buffer_ ? buffer_->data() : nullptr; }
  bool IsUnique() const;
  /// Copies the elements if they are shared, recursively for tuples.
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

  /// Returns the same elements with a shape that has as many elements of the same width.
  Literal WithShape(Shape shape) const;

  absl::Span<const Literal> elements() const { return elements_; }  ///< The elements of a tuple.
  std::vector<Literal>& mutable_elements() { return elements_; }
  const Literal& element(int64_t i) const { return elements_[i]; }

  /// Returns the run-time size of a dimension, which is its bound unless set otherwise.
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

/// Options for printing HLO literal text (text-format 9.7).
struct LiteralPrintOptions {
  bool shapes = false;        ///< Prints the shape before each array, as in `literal=`.
  bool layouts = true;        ///< Prints layouts with the shapes.
  bool as_xla = false;        ///< Prints as XLA does (-0, fixed digits), even if the text does not read back.
  bool i_comments = true;     ///< Prints `/*i0=0*/` for ranks of 4 and more.
  int64_t max_elements = -1;  ///< Larger arrays are elided as {...}; -1 means no limit.
};
void AppendLiteral(const Literal& literal, const LiteralPrintOptions& options, std::string* out);
std::string ToString(const Literal& literal, const LiteralPrintOptions& options = {});
/// Appends one element as AppendLiteral does. `in_array` selects 1 or true for pred.
void AppendElement(const Literal& literal, int64_t index, bool in_array, const LiteralPrintOptions& options,
                   std::string* out);

}  // namespace hlo
#pragma GCC visibility pop
