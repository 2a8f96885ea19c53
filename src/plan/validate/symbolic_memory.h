#pragma once
// Value numbers and the memory that holds them, for the symbolic execution of bytecode.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"

namespace hlo::plan {

// A value number; equal computations have equal numbers.
using Term = int32_t;
inline constexpr Term kUndefined = 0;  // Bytes that were never written.

// Value numbering of terms.
class Terms {
 public:
  enum class Op : uint8_t {
    kUndefined,
    kInitial,    // The initial content of a slot.
    kConstant,   // The bytes of a constant, as an interned string.
    kExtract,    // term, offset, byte count
    kConcat,     // (term, offset, byte count)...
    kApply,      // function, parameter, count, operands...
    kDot,        // number of the dot, operands...
    kDotLine,    // type, length, operands...
    kAddress,    // index, type, max, stride, is_checked, added address
    kInRange,    // index, type, max
    kLoadAt,     // array, address, offset, byte count
    kStoreAt,    // array, address, offset, byte count, value
    kSelect,     // condition, value if true, value if false
    kStep,       // step, operands..., effects before
    kResult,     // kStep, number; -1: the effects after it
    kConverted,  // A conversion between a literal and bytes.
    kMerged,     // A fresh number at a join of control flow.
  };

  Terms();
  Terms(const Terms&) = delete;
  // Returns the term of the operation and its arguments; `bytes` is the size of its value.
  Term Make(Op op, absl::Span<const int64_t> arguments, int64_t bytes);
  Term Fresh(int64_t bytes) { return Make(Op::kMerged, {fresh_++}, bytes); }
  Term Constant(const void* data, int64_t bytes);
  int64_t Bytes(Term term) const { return bytes_[term]; }
  // Returns the bytes of a constant; null for other terms.
  const std::string* ConstantBytes(Term term) const;

  // The range of an address.
  struct Range {
    int64_t smallest, largest;
  };
  void SetRange(Term address, Range range) { ranges_[address] = range; }
  const Range* FindRange(Term address) const;

 private:
  // A row of the pool is the operation and the arguments of a term; the hash table finds terms by their rows.
  using Row = absl::Span<const int64_t>;
  Row RowOf(Term term) const { return {pool_.data() + begins_[term], begins_[term + 1] - begins_[term]}; }
  Row RowOf(Row row) const { return row; }
  struct Hash {
    using is_transparent = void;
    const Terms* terms;
    template <class Key>
    size_t operator()(const Key& key) const {
      return absl::HashOf(terms->RowOf(key));
    }
  };
  struct Equal {
    using is_transparent = void;
    const Terms* terms;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return terms->RowOf(a) == terms->RowOf(b);
    }
  };
  std::vector<int64_t> pool_;
  std::vector<size_t> begins_ = {0};
  absl::flat_hash_set<Term, Hash, Equal> terms_{64, Hash{this}, Equal{this}};
  std::vector<int64_t> bytes_;
  absl::flat_hash_map<std::string, int64_t> string_numbers_;
  absl::node_hash_map<Term, std::string> strings_;
  absl::flat_hash_map<Term, Range> ranges_;
  int64_t fresh_ = 0;
};

// A part of a value.
struct Piece {
  Term term = kUndefined;
  int64_t offset = 0;  // The offset within the value.
  int64_t bytes = 0;
  int32_t writer = -1;  // The step or operation that wrote it, for messages.
};
using Pieces = absl::InlinedVector<Piece, 2>;

// Returns the value of the concatenated pieces.
Term Combine(Terms& terms, absl::Span<const Piece> pieces);
bool HasUndefined(absl::Span<const Piece> pieces);

// Objects of bytes, each with the values that it holds; writes can be rolled back.
class SymbolicMemory {
 public:
  explicit SymbolicMemory(int64_t objects) : objects_(objects) {}

  Pieces Read(int32_t object, int64_t begin, int64_t bytes) const;
  // Undefined pieces make the bytes undefined.
  void Write(int32_t object, int64_t begin, absl::Span<const Piece> pieces);
  void Erase(int32_t object, int64_t begin, int64_t bytes);

  // Writes between Begin and Rollback are recorded; they nest.
  struct Change {
    int32_t object;
    int64_t begin, bytes;
  };
  size_t Begin();
  std::vector<Change> Changes(size_t mark) const;
  void Rollback(size_t mark);

 private:
  // Most objects hold one value; others hold parts, keyed by offset.
  using Parts = absl::btree_map<int64_t, Piece>;
  struct Object {
    Piece whole;  // The value at the beginning, if there are no parts; empty if undefined.
    std::unique_ptr<Parts> parts;
  };
  static void Cut(Parts& parts, int64_t at);
  void Put(int32_t object, int64_t begin, absl::Span<const Piece> pieces);
  struct Saved {
    Change change;
    Pieces before;
  };
  std::vector<Object> objects_;
  std::vector<Saved> saved_;
  int32_t open_ = 0;
};

}  // namespace hlo::plan
