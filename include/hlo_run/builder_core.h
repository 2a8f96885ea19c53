#pragma once
/// \file
/// Builds a module in C++, one instruction at a time. builder.h declares the operations.
///
///   Builder b("center");
///   Op x = b.Parameter(0, "f32[2,3]", "x");
///   Op sum = Reduce(x, b.Constant("f32[] 0"), b.Scalar(Opcode::kAdd, x.type()), {1});
///   absl::StatusOr<CheckedModule> module = b.Build(Sub(x, Div(sum, ScalarLike(x, 3)), {0}));
///
/// Every operation infers its result shape and is checked at once. The builder keeps the first error with the
/// source location of the call; later operations do nothing, and Build returns the error.

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo::build {

class Builder;

/// The place of a call in the caller's source, like std::source_location, which clang 14 lacks.
class Place {
 public:
  static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Place(file, line);
  }
  constexpr const char* file_name() const { return file_; }
  constexpr int line() const { return line_; }

 private:
  constexpr Place(const char* file, int line) : file_(file), line_(line) {}
  const char* file_;
  int line_;
};

using Dims = absl::Span<const int64_t>;
using Pairs = absl::Span<const std::pair<int64_t, int64_t>>;
using Groups = std::vector<std::vector<int64_t>>;

/// Refers to the value of an instruction. After an error it is null, and its shape is invalid.
class Op {
 public:
  Op() = default;
  Op(Builder* builder, Instruction* instruction) : builder_(builder), instruction_(instruction) {}
  bool ok() const { return instruction_ != nullptr; }
  Builder* builder() const { return builder_; }
  Instruction* instruction() const { return instruction_; }
  const Shape& shape() const;
  ElementType type() const { return shape().type(); }
  int64_t rank() const { return shape().rank(); }
  absl::Span<const int64_t> dims() const { return shape().dims(); }

 private:
  Builder* builder_ = nullptr;
  Instruction* instruction_ = nullptr;
};

/// Arguments that capture the source location of the call. They convert implicitly from an Op or a list of
/// Ops.
struct Operand : Op {
  Place place;
  Operand(Op op, Place place = Place::current()) : Op(op), place(place) {}
};
/// A list of operands; see Operand.
struct Operands {
  std::vector<Op> ops;
  Place place;
  Operands(Op op, Place place = Place::current()) : ops({op}), place(place) {}
  Operands(std::initializer_list<Op> ops, Place place = Place::current()) : ops(ops), place(place) {}
  Operands(std::vector<Op> ops, Place place = Place::current()) : ops(std::move(ops)), place(place) {}
};

/// Refers to a computation that can be called; null after an error.
struct Function {
  Builder* builder = nullptr;
  Computation* computation = nullptr;
};

/// Owns the module under construction. It is not thread-safe.
class Builder {
 public:
  explicit Builder(std::string_view module_name);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// These add an instruction to the computation under construction. A shape may be text, `f32[2,3]`, and so
  /// may a constant, `f32[2] {1,2}`. A constant array of equal elements becomes a broadcast scalar.
  Op Parameter(int64_t number, const Shape& shape, std::string_view name = "",
               Place place = Place::current());
  Op Parameter(int64_t number, std::string_view shape, std::string_view name = "",
               Place place = Place::current());
  Op Constant(const Literal& value, Place place = Place::current());
  Op Constant(std::string_view text, Place place = Place::current());
  Op Constant(ElementType type, double value,
              Place place = Place::current());  ///< A scalar, rounded.
  Op Iota(const Shape& shape, int64_t dimension, Place place = Place::current());
  Op Iota(ElementType type, int64_t size, Place place = Place::current());
  Op Tuple(const std::vector<Op>& elements, Place place = Place::current());
  Op AfterAll(const std::vector<Op>& tokens, Place place = Place::current());
  Op CreateToken(Place place = Place::current());
  Op ReplicaId(Place place = Place::current());
  Op PartitionId(Place place = Place::current());
  /// Operations without a token operand are ordered after the builder's earlier ones of the same kind.
  Op Infeed(const Shape& shape, std::string_view config = "", Place place = Place::current());
  Op Recv(const Shape& shape, int64_t channel_id, Place place = Place::current());
  Op CustomCall(std::string_view target, const std::vector<Op>& operands, const Shape& shape,
                std::string_view backend_config = "", bool has_side_effect = false,
                Place place = Place::current());
  /// Adds an instruction of any opcode with any attributes. An invalid shape is inferred; `type` then
  /// replaces its element type. Data that attributes point to must live as long as the module: see Keep.
  Op Emit(Opcode opcode, const std::vector<Op>& operands, const std::vector<AttrEntry>& attributes,
          Shape shape = {}, std::optional<ElementType> type = {}, Place place = Place::current());

  /// Defines a computation. `body` gets its parameters and returns its root; operations that `body` adds
  /// belong to the computation.
  Function Define(std::string_view name, const std::vector<Shape>& parameters,
                  const std::function<Op(const std::vector<Op>&)>& body, Place place = Place::current());
  /// Returns the computation f(x, y) = x op y on scalars, for reductions, scatters and collectives.
  Function Scalar(Opcode opcode, ElementType type, Place place = Place::current());
  /// Returns a comparator for Sort. It compares elements of the first operand, floats in total order, and
  /// ignores the others.
  Function Comparator(ComparisonDirection direction, const std::vector<ElementType>& types,
                      Place place = Place::current());

  /// These return copies that live as long as the module.
  std::string_view Keep(std::string_view text);
  IntList Keep(Dims numbers);
  IntLists Keep(const Groups& lists);
  template <class T>
  const T* Keep(const T& value) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (Allocate(sizeof(T), alignof(T))) T(value);
  }

  Op SetName(Op op, std::string_view name);     ///< Makes the name valid and unique; returns `op`.
  Op SetAttribute(Op op, AttrEntry attribute);  ///< Adds or replaces an attribute; returns `op`.
  Module& module() { return *module_; }
  const absl::Status& status() const { return status_; }
  /// Records an error unless there is one; returns a null Op.
  Op Fail(Place place, std::string_view message);

  /// Returns the checked module whose entry has this root, or the first error. The builder cannot be used
  /// afterwards.
  absl::StatusOr<CheckedModule> Build(Op root, const CheckOptions& options = {},
                                      Place place = Place::current());

 private:
  std::string_view UniqueName(std::string_view wanted);
  void* Allocate(size_t byte_count, size_t alignment);

  std::shared_ptr<Module> module_;
  std::vector<Computation*> open_;  ///< The entry and the computations under construction.
  absl::flat_hash_map<std::string, int64_t> names_;
  absl::Status status_;
  Op infeed_token_, outfeed_token_;
  friend Op Outfeed(Operand operand, std::string_view config);
};

/// Returns an attribute entry for Emit and SetAttribute, such as Attr<attr::dimensions>(list).
template <class A>
AttrEntry Attr(typename A::Type value) {
  return {A::kId, {}, AttrValue::Of(value)};
}

}  // namespace hlo::build
#pragma GCC visibility pop
