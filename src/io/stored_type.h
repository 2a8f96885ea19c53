#pragma once
// May elements that a file stores as one type be read as another? Only where the file's format has no name
// for it: then unsigned integers or raw bytes of the same width carry the bits.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/io.h"
#include "hlo_run/literal.h"
#include "io/file.h"

namespace hlo::io {

struct StoredType {
  std::string text;                 // As the file writes it: `<f8`, `BF16`.
  std::optional<ElementType> type;  // What it says it is.
  int64_t byte_count = 0;           // One element.
  bool is_bits = false;             // May carry the bits of a type that NumPy lacks.
  bool big_endian = false;
};

// Whether an array of these sizes is a value of the shape, whose dimensions may have bounds.
bool DimsFit(absl::Span<const int64_t> dims, const Shape& expected);

// The types that NumPy has by itself; files never carry them as bits.
bool IsNumpyType(ElementType type);
bool Fits(const StoredType& stored, ElementType expected);

// The elements of an array as a file has them.
struct StoredArray {
  StoredType type;
  std::vector<int64_t> dims;
  bool fortran_order = false;
};
// `f64[2,3]`, or `raw bytes of width 2 [2,3]`.
std::string ToString(const StoredArray& array);

// Reads the elements, all that remains of the stream, as a literal of the expected shape. A dimension with a
// bound may be smaller in the file: that is its run-time size.
absl::StatusOr<Literal> ReadElements(const StoredArray& array, const Shape& expected, ByteStream& stream,
                                     const ReadOptions& options);

// The elements within the run-time sizes, as an array of these sizes.
absl::StatusOr<Literal> WithoutPadding(const Literal& literal);

// The literal's elements as files store them: dense within the run-time sizes, narrow integers without sign
// bits beyond their width. Shares the literal's bytes where they are so already.
absl::StatusOr<Literal> ForStorage(const Literal& literal);

}  // namespace hlo::io
