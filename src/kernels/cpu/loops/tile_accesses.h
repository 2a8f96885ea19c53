#pragma once
// This file resolves the accesses of a loop program to the elements of a tile, which is a range of inner
// positions: their offsets, and reads and writes of elements that are not contiguous.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

using loops::Access;
using loops::Affine;
using loops::RuntimeStart;

// The offsets of consecutive positions of a load. They begin with a row of `period` positions, and span rows
// along dimension `dim`.
struct GatherOffsets {
  size_t dim;
  int64_t period;
  std::vector<int32_t> each;
  // Consecutive positions with a simple pattern: neighbours, `count` neighbours again and again, neighbours
  // `count` times each, or any offsets. Empty if most have no pattern.
  struct Run {
    enum class Pattern : uint8_t { kCopied, kRepeated, kSpread, kAny };
    int32_t begin, length;
    Pattern pattern;
    int32_t count = 1;
  };
  std::vector<Run> runs = {};
};

// Owns the program. Functions take an access by its number; `arguments` are the pointers that accesses name,
// and `bases` the offsets of all accesses and extras at inner position 0, in elements, as in offsets().
class TileAccesses {
 public:
  // The elements at the positions of an outer index: contiguous, the same one, or any others.
  enum class Pattern : uint8_t { kDense, kScalar, kStrided };

  // The program is finished.
  explicit TileAccesses(loops::LoopProgram program);

  const loops::LoopProgram& program() const { return program_; }
  const Access& access(int32_t number) const { return program_.access(number); }
  absl::Span<const Access> all() const { return program_.accesses(); }
  Pattern pattern(int32_t number) const { return patterns_[number]; }
  int64_t width(int32_t number) const { return ByteCount(access(number).type); }
  // True if tiles end with the innermost dimension, so that rows are read in place. Rows that are shorter
  // than a tile and than a fixed length are joined into one tile.
  bool by_rows() const { return by_rows_; }
  // Sets the length of tiles, on which by_rows() depends.
  void SetTile(int64_t length);

  // The offsets of the accesses at the first position of both loops, without starts at run time. Those of the
  // extras of irregular accesses follow: the indices of their starts and the coordinates of their edges.
  absl::Span<const int64_t> offsets() const { return offsets_; }
  // Irregular accesses, with the index of their extras among the offsets.
  absl::Span<const std::pair<int32_t, int32_t>> irregular() const { return irregular_; }
  // The accesses that have starts at run time.
  absl::Span<const int32_t> started() const { return started_; }
  bool scalars_vary() const { return scalars_vary_; }      // True if a scalar depends on the outer index.
  bool periodics_vary() const { return periodics_vary_; }  // True if a periodic access does.

  // True if every row of the innermost dimension reads the same elements and tiles hold several rows, so that
  // tiles which begin at the same position of a row are equal.
  bool IsPeriodic(int32_t number) const;
  // True if all positions of a tile, which ends with its row, read the same element.
  bool IsScalarInRow(int32_t number) const;
  // True if all positions of an outer index read the same element, which varies with the outer index.
  bool IsScalarOfRow(int32_t number) const;
  // True if the access is an iota that increases by one with each position of a tile.
  bool IsIotaInRow(int32_t number) const;
  // True if the elements of a tile are contiguous in an array.
  bool IsDenseInTile(int32_t number) const;
  // True if the rows of a strided load are next to each other in memory.
  bool IsTransposed(int32_t number) const;
  // Returns the offsets of a load whose runs of equidistant elements are short, or that is strided; otherwise
  // nullopt.
  std::optional<GatherOffsets> OffsetsOf(int32_t number) const;

  // Returns the offset of the element at an inner position.
  int64_t OffsetAt(int32_t number, const int64_t* bases, int64_t position) const;
  // Returns the same for an irregular access that IsDenseInTile; `extras` are the bases of its extras.
  int64_t RowOffsetAt(int32_t number, void* const* arguments, const int64_t* bases, const int64_t* extras,
                      int64_t position) const;
  // Returns the elements at inner positions [begin, begin + n) in their storage type: in place, or gathered
  // into `scratch`.
  const std::byte* Read(int32_t number, void* const* arguments, const int64_t* bases, int64_t begin,
                        int64_t n, std::byte* scratch) const;
  // Stores the elements at inner positions [begin, begin + n) in their storage type.
  void Write(int32_t number, bool contiguous, void* const* arguments, int64_t base, int64_t begin, int64_t n,
             const std::byte* from) const;

 private:
  Pattern PatternOf(const Access& access) const;
  static bool HasStartsPerRow(const Access& access);

  loops::LoopProgram program_;
  std::vector<Pattern> patterns_;
  std::vector<std::pair<int32_t, int32_t>> irregular_;
  std::vector<int64_t> offsets_;
  std::vector<int32_t> started_;
  bool scalars_vary_ = false, periodics_vary_ = false;
  bool by_rows_ = false;
};

// Widens one element to its compute type in `to`, or returns its address if no conversion is needed.
std::byte* ReadScalar(ElementType type, const TileCall& widen, std::byte* from, std::byte* to);

}  // namespace hlo::cpu
