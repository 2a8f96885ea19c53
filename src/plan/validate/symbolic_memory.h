#pragma once
// Values by number, and memory that holds them: what the verifier of bytecode executes symbolically.

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

// A value's number; equal values that are computed alike have the same.
using Term = int32_t;
inline constexpr Term kUndefined = 0;  // Bytes that nothing has written.

// Value numbering: terms by how they are computed.
class Terms {
 public:
  enum class Op : uint8_t {
    kUndefined,
    kInitial,    // A slot's content before the run.
    kConstant,   // Bytes of constants, by an interned string.
    kExtract,    // term, offset, byte count
    kConcat,     // (term, offset, byte count)...
    kApply,      // function, parameter, count, operands...
    kDot,        // number of the dot, operands...
    kDotLine,    // type, length, operands...
    kAddress,    // index, type, max, stride, whether checked, and what it is added to
    kInRange,    // index, type, max
    kLoadAt,     // array, address, offset, byte count
    kStoreAt,    // array, address, offset, byte count, value
    kSelect,     // condition, where it is true, where it is false
    kStep,       // step, operands..., effects before
    kResult,     // kStep, number; -1: the effects after it
    kConverted,  // Between a literal and bytes.
    kMerged,     // A value at a join of control flow: a fresh number.
  };

  Terms();
  Terms(const Terms&) = delete;
  // The term of the operation and its arguments; `bytes` is its size.
  Term Make(Op op, absl::Span<const int64_t> arguments, int64_t bytes);
  Term Fresh(int64_t bytes) { return Make(Op::kMerged, {fresh_++}, bytes); }
  Term Constant(const void* data, int64_t bytes);
  int64_t Bytes(Term term) const { return bytes_[term]; }
  // Bytes of a constant; null for other terms.
  const std::string* ConstantBytes(Term term) const;

  // The largest and smallest value of an address.
  struct Range {
    int64_t smallest, largest;
  };
  void SetRange(Term address, Range range) { ranges_[address] = range; }
  const Range* FindRange(Term address) const;

 private:
  // Operation and arguments of a term are a row of the pool; tables find terms by their rows.
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
  int64_t offset = 0;  // Within the value.
  int64_t bytes = 0;
  int32_t writer = -1;  // Who stored it, for messages.
};
using Pieces = absl::InlinedVector<Piece, 2>;

// The value that the pieces are together.
Term Joined(Terms& terms, absl::Span<const Piece> pieces);
bool HasUndefined(absl::Span<const Piece> pieces);

// Objects of bytes, each with the values stored in it; writes can be undone.
class SymbolicMemory {
 public:
  explicit SymbolicMemory(int64_t objects) : objects_(objects) {}

  Pieces Read(int32_t object, int64_t begin, int64_t bytes) const;
  // Undefined pieces make the bytes undefined.
  void Write(int32_t object, int64_t begin, absl::Span<const Piece> pieces);
  void Erase(int32_t object, int64_t begin, int64_t bytes);

  // Between Begin and Rollback writes are recorded; they nest.
  struct Change {
    int32_t object;
    int64_t begin, bytes;
  };
  size_t Begin();
  std::vector<Change> Changes(size_t mark) const;
  void Rollback(size_t mark);

 private:
  // Most objects are one value; others are parts, by where they begin.
  using Parts = absl::btree_map<int64_t, Piece>;
  struct Object {
    Piece whole;  // Where there are no parts, from the beginning on; of no bytes: nothing.
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
