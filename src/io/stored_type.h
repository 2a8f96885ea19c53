#pragma once
// Matches element types in files with expected types. They may differ only if the format has no name for the
// type; unsigned integers or raw bytes of the same width then contain its bits.

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
  std::string text;                 // The type's name in the file: `<f8`, `BF16`.
  std::optional<ElementType> type;  // The type that the file declares.
  int64_t byte_count = 0;           // The size of an element.
  bool is_bits = false;             // True if it may contain the bits of a type that NumPy lacks.
  bool big_endian = false;
};

// True if an array of these sizes is a value of the shape, which may have bounded dimensions.
bool DimsFit(absl::Span<const int64_t> dims, const Shape& expected);

// True for the types of NumPy itself, which files never store as bits of another type.
bool IsNumpyType(ElementType type);
bool Fits(const StoredType& stored, ElementType expected);

// The elements of an array in a file.
struct StoredArray {
  StoredType type;
  std::vector<int64_t> dims;
  bool fortran_order = false;
};
// Returns `f64[2,3]`, or `raw bytes of width 2 [2,3]`.
std::string ToString(const StoredArray& array);

// Reads the elements, which are the rest of the stream, as a literal of the expected shape. A bounded
// dimension may be smaller in the file, which gives its run-time size.
absl::StatusOr<Literal> ReadElements(const StoredArray& array, const Shape& expected, ByteStream& stream,
                                     const ReadOptions& options);

// Returns the elements within the run-time sizes as an array of these sizes.
absl::StatusOr<Literal> WithoutPadding(const Literal& literal);

// Returns the elements in the form in which files store them: dense within the run-time sizes, narrow
// integers without sign extension. Shares the bytes of the literal if they already have this form.
absl::StatusOr<Literal> ForStorage(const Literal& literal);

}  // namespace hlo::io
