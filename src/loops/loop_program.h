#pragma once
// A loop over the positions of an index space: it loads elements, applies elementwise operations and stores
// results. Loads are strided, so that broadcast, transpose, slice and reverse have no cost of their own.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "loops/access.h"
#include "loops/compute_type.h"
#include "loops/operation.h"

namespace hlo::loops {

// A value of a program: the number of the step that computes it.
using Value = int32_t;

class LoopProgram {
 public:
  // A load, or an operation on earlier values.
  struct Step {
    ComputeType compute_type;
    int32_t access = -1;  // The access of a load.
    Operation operation = {};
    int8_t operand_count = 0;
    std::array<Value, 3> in{};
    bool IsLoad() const { return access >= 0; }
    absl::Span<const Value> operands() const { return {in.data(), static_cast<size_t>(operand_count)}; }
  };
  struct Stored {
    Value value;
    int32_t access;
  };

  // --- Building: operands precede their users, and Finish is called once at the end.
  LoopProgram(absl::Span<const int64_t> outer_dims, absl::Span<const int64_t> inner_dims)
      : outer_dims_(outer_dims.begin(), outer_dims.end()),
        inner_dims_(inner_dims.begin(), inner_dims.end()) {}
  Value Load(Access access);
  // Loads from the first piece whose edges include the position.
  Value Load(std::vector<Access> pieces);
  Value Apply(const Operation& operation, ComputeType result, absl::Span<const Value> operands);
  void Store(Value value, Access access);
  // Adds an output that is passed to the user of the program, a reduction for instance.
  void Yield(Value value) { yields_.push_back(value); }
  // Collapses dimensions that are contiguous in all accesses, and makes copies untyped.
  void Finish();

  // --- Queries of a finished program.
  // Returns the same program with rows of `length` positions as the outer index, or nullopt if rows do not
  // coincide with dimensions or the program has outer dimensions already.
  std::optional<LoopProgram> ByRows(int64_t length) const;
  // Returns the same program with the outer dimensions as the first inner ones.
  LoopProgram JoinRows() const;

  absl::Span<const int64_t> outer_dims() const { return outer_dims_; }
  absl::Span<const int64_t> inner_dims() const { return inner_dims_; }
  int64_t outer_count() const { return outer_count_; }
  int64_t inner_count() const { return inner_count_; }
  // The steps run in order, then the stores; a store may also run as soon as its value is computed. Back ends
  // may reorder steps, but not a use of a load and a later store that may overwrite its element.
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const Stored> stores() const { return stores_; }
  absl::Span<const Value> yields() const { return yields_; }
  absl::Span<const Access> accesses() const { return accesses_; }
  const Access& access(int32_t number) const { return accesses_[number]; }
  ComputeType compute_type(Value value) const { return steps_[value].compute_type; }

  // Returns true if all inner positions access the same element.
  static bool IsInvariant(const Access& access);
  // Returns true if the inner positions access adjacent elements.
  bool IsContiguous(const Access& access) const { return access.IsRegular() && IsContiguous(access.inner); }
  bool IsContiguous(const Strides& inner) const;
  // Returns true if the program consists of one load without run-time positions or edges, and one store.
  bool IsCopy() const;
  // Returns the access if the program only yields elements of an array unchanged, whose addresses are affine
  // in the position; otherwise null.
  const Access* YieldedLoad() const;
  // Returns the storage type if the program only yields contiguous elements of an array unchanged.
  std::optional<ElementType> YieldedAsStored() const;

  // Return the step at which the last of these loads is used, and the one from which on a store may run.
  // Stores come after all steps. A store may overwrite the elements of loads with LastUse(loads) <=
  // StoredFrom(store).
  int64_t LastUse(absl::FunctionRef<bool(const Access&)> loads) const;
  int64_t StoredFrom(size_t store) const;

  // Calls visit(access, is_store) for all accesses; arguments may be renumbered. Arguments that VisitOthers
  // visits are read like loads.
  void VisitAccesses(absl::FunctionRef<void(Access&, bool)> visit);
  void VisitAccesses(absl::FunctionRef<void(const Access&, bool)> visit) const;

 private:
  void MoveBits();
  void Collapse(std::vector<int64_t>& dims, bool outer);
  bool ScaleEdges();

  std::vector<int64_t> outer_dims_, inner_dims_;
  int64_t outer_count_ = 1, inner_count_ = 1;
  std::vector<Access> accesses_;
  std::vector<Step> steps_;
  std::vector<Stored> stores_;
  std::vector<Value> yields_;
};

}  // namespace hlo::loops
