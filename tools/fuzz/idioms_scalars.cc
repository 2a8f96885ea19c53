// Loops over scalars and small arrays, as machine code runs them.
//
//   block     = statement { statement }
//   statement = scalar := expression | array[index] := expression | array := array operation expression
//             | scalar := reduction of an array | swap | while condition do block | branches of blocks
//   condition = counter against a constant or a scalar, possibly with a predicate
//
// A block maps the values of its computation's state to their next values.

#include <limits>
#include <utility>

#include "idioms.h"

namespace hlo::fuzz {
namespace {

using enum ElementType;

constexpr int64_t kMaxDepth = 3;  // Nested loops and branches.

// Returns the value without a bound on its magnitude. Elementwise arithmetic needs none to be exact.
Value Free(Value value) {
  value.top = std::numeric_limits<double>::infinity();
  value.step = IsFloat(value.type) ? kUnknownStep : 0;
  return value;
}
// Returns the value with bounds that Body::While and Body::Conditional accept without another instruction.
Value AsCarried(Value value) {
  value.top = 4;
  value.step = 0;
  return value;
}
Values AsCarried(Values values) {
  for (Value& v : values) v = AsCarried(v);
  return values;
}

// Writes the statements of one computation.
class Block {
 public:
  Block(Body& body, Values state) : b_(body), random_(body.random), state_(std::move(state)) {}

  Values Statements(int64_t count) {
    for (int64_t i = 0; i < count; ++i) Statement();
    return AsCarried(state_);
  }

 private:
  void Statement() {
    const bool nests = b_.depth < kMaxDepth;
    const double choice = random_.Unit() * (nests ? 1 : 0.75);
    if (choice < 0.35)
      Assign();
    else if (choice < 0.5)
      Store();
    else if (choice < 0.58)
      ChangeAll();
    else if (choice < 0.64)
      Fold();
    else if (choice < 0.75)
      Swap();
    else if (choice < 0.88)
      Loop();
    else
      Branch();
  }

  // --- Statements

  void Assign() {
    Value& to = state_[random_.Below(static_cast<int64_t>(state_.size()))];
    if (to.rank() == 0) to = Expression(to.type, 3);
  }
  void Store() {
    Value* const array = AnyArray();
    if (array == nullptr) return;
    Dims sizes(array->dims.size(), 1);
    if (random_.Chance(0.2)) sizes.back() = array->dims.back();
    const Value element = Expression(array->type, 2);
    *array = b_.DynamicUpdateSlice(*array, b_.Broadcast(element, sizes, {}), Index(*array));
  }
  void ChangeAll() {
    Value* const array = AnyArray();
    if (array == nullptr) return;
    const Value all = b_.Broadcast(Expression(array->type, 1), array->dims, {});
    if (random_.Chance(0.3)) {
      const Value p = Raw("compare", {*array, all}, kPred, array->dims, "direction=LT");
      *array = Raw("select", {p, *array, all}, array->type, array->dims);
    } else {
      *array = Raw(Operation(array->type), {*array, all}, array->type, array->dims);
    }
  }
  void Fold() {
    const Value* const array = AnyArray();
    if (array == nullptr) return;
    Dims all;
    for (int64_t d = 0; d < array->rank(); ++d) all.push_back(d);
    const bool sums = IsIntegral(array->type) && random_.Chance(0.5);
    const Value folded = b_.Reduce(IsPred(array->type) ? "or" : sums ? "add" : "maximum", *array, all);
    for (Value& to : state_) {
      if (to.rank() > 0 || to.type != folded.type) continue;
      to = folded;
      return;
    }
  }
  void Swap() {
    const auto size = static_cast<int64_t>(state_.size());
    Value &x = state_[random_.Below(size)], &y = state_[random_.Below(size)];
    if (x.type == y.type && x.dims == y.dims) std::swap(x, y);
  }

  // The counter is the last element of the loop's state; the limit of some loops is a scalar of it.
  void Loop() {
    const bool counts_down = random_.Chance(0.2), has_exit = random_.Chance(0.25);
    const int64_t stride = random_.Chance(0.8) ? 1 : 2, trips = random_.Between(0, b_.depth == 0 ? 9 : 4);
    const int64_t last = trips * stride;
    Values inits = state_;
    const bool is_counted = random_.Chance(0.7);
    const std::string_view direction = counts_down ? "GT" : is_counted && random_.Chance(0.2) ? "NE" : "LT";
    if (!is_counted) inits.push_back(Limited(Expression(kS32, 1), last));
    inits.push_back(b_.Constant(kS32, counts_down ? static_cast<double>(last) : 0));
    const auto condition = [&](Body& body, const Values& given) -> Values {
      const Value& counter = given.back();
      const Value limit = counts_down  ? body.Constant(kS32, 0)
                          : is_counted ? body.Constant(kS32, static_cast<double>(last))
                                       : given[given.size() - 2];
      const Value more = body.Compare(counter, limit, direction);
      if (!has_exit) return {more};
      Block block(body, given);
      return {block.Raw("and", {more, block.Expression(kPred, 2)}, kPred, {})};
    };
    const auto step = [&](Body& body, const Values& given) -> Values {
      Block block(body, given);
      const Value& counter = given.back();
      const size_t fixed = is_counted ? 1 : 2;  // The block may read, but not change, counter and limit.
      Values next = block.Statements(body.random.Between(1, 5));
      for (size_t i = given.size() - fixed; i < given.size(); ++i) next[i] = given[i];
      next.back() = body.Binary(counts_down ? "subtract" : "add", counter,
                                body.Constant(kS32, static_cast<double>(stride)));
      return next;
    };
    Take(b_.While(AsCarried(inits), condition, step));
  }

  void Branch() {
    const int64_t count = random_.Chance(0.7) ? 2 : 3;
    const Value index = count == 2 && random_.Chance(0.8) ? Expression(kPred, 2) : Expression(kS32, 2);
    std::vector<BodyFn> branches;
    for (int64_t i = 0; i < count; ++i) {
      branches.emplace_back([](Body& body, const Values& given) {
        return Block(body, given).Statements(body.random.Between(0, 3));
      });
    }
    Take(b_.Conditional(index, std::vector<Values>(count, AsCarried(state_)), branches));
  }

  // --- Expressions

  Value Raw(std::string_view opcode, const Values& operands, ElementType type, const Dims& dims,
            std::string_view attributes = "") {
    return Free(
        b_.Op(opcode, operands, type, dims, attributes, Free({.name = "", .type = type, .dims = {}})));
  }

  // Returns an expression of at most this number of nested operations.
  Value Expression(ElementType type, int64_t size) {
    if (size == 0 || random_.Chance(0.15)) return Leaf(type);
    if (IsPred(type) && random_.Chance(0.7)) {
      const ElementType compared = random_.Pick<ElementType>({kS32, kS32, kF32, kS64, kU32, kF64});
      return Raw("compare", {Expression(compared, size - 1), Expression(compared, size - 1)}, kPred, {},
                 "direction=" + random_.Pick<std::string>({"LT", "LE", "GT", "GE", "EQ", "NE"}));
    }
    const double choice = random_.Unit();
    if (choice < 0.1)
      return Raw("select",
                 {Expression(kPred, size - 1), Expression(type, size - 1), Expression(type, size - 1)}, type,
                 {});
    if (choice < 0.2 && !IsPred(type))
      return Raw("clamp", {Leaf(type), Expression(type, size - 1), Leaf(type)}, type, {});
    if (choice < 0.3) return Raw(Function(type), {Expression(type, size - 1)}, type, {});
    return Raw(Operation(type), {Expression(type, size - 1), Expression(type, size - 1)}, type, {});
  }

  // Returns a scalar of the state, an element of an array, or a constant.
  Value Leaf(ElementType type) {
    if (random_.Chance(0.2))
      return Free(b_.Constant(type, static_cast<double>(random_.Between(IsUnsigned(type) ? 0 : -3, 9))));
    const Value any = state_[random_.Below(static_cast<int64_t>(state_.size()))];
    Values fitting;
    for (const Value& v : state_) {
      if (v.type == type && v.rank() == 0) fitting.push_back(v);
    }
    if (!fitting.empty() && random_.Chance(0.7)) return random_.Pick(fitting);
    if (any.rank() > 0 && is_index_) return Free(b_.Constant(type, 1));
    Value x = any;
    if (any.rank() > 0) x = b_.Reshape(b_.DynamicSlice(any, Index(any), Dims(any.dims.size(), 1)), {});
    return x.type == type ? x : Raw("convert", {x}, type, {});
  }

  // Returns start indices of a part of the array, some of them out of bounds.
  Values Index(const Value& array) {
    Values starts;
    is_index_ = true;
    for (const int64_t size : array.dims) {
      Value start = state_.back().type == kS32 && state_.back().rank() == 0 && random_.Chance(0.5)
                        ? state_.back()
                        : Expression(kS32, 1);
      if (random_.Chance(0.4))
        start = Raw("remainder", {start, b_.Constant(kS32, static_cast<double>(size))}, kS32, {});
      starts.push_back(start);
    }
    is_index_ = false;
    return starts;
  }

  Value Limited(const Value& x, int64_t most) {
    return Raw("minimum", {x, b_.Constant(kS32, static_cast<double>(most))}, kS32, {});
  }
  std::string Operation(ElementType type) {
    if (IsPred(type)) return random_.Pick<std::string>({"and", "or", "xor"});
    if (IsFloat(type))
      return random_.Pick<std::string>(
          {"add", "subtract", "multiply", "multiply", "divide", "maximum", "minimum"});
    return random_.Pick<std::string>({"add", "add", "subtract", "multiply", "divide", "remainder", "maximum",
                                      "minimum", "and", "or", "xor", "shift-left", "shift-right-logical",
                                      "shift-right-arithmetic"});
  }
  std::string Function(ElementType type) {
    if (IsPred(type)) return "not";
    if (IsFloat(type)) {
      // The exact ones come first.
      const std::vector<std::string> functions = {"negate", "abs",  "floor",       "ceil", "sign",
                                                  "sqrt",   "sine", "exponential", "tanh", "logistic"};
      return functions[random_.Below(b_.program.is_exact ? 6 : 10)];
    }
    if (IsUnsigned(type)) return random_.Pick<std::string>({"not", "popcnt", "count-leading-zeros"});
    return random_.Pick<std::string>({"not", "negate", "abs", "sign", "popcnt", "count-leading-zeros"});
  }

  Value* AnyArray() {
    Value& any = state_[random_.Below(static_cast<int64_t>(state_.size()))];
    return any.rank() > 0 ? &any : nullptr;
  }
  // Replaces the state by the first results of a loop or conditional.
  void Take(const Values& results) {
    for (size_t i = 0; i < state_.size(); ++i) state_[i] = Free(results[i]);
  }

  Body& b_;
  Random& random_;
  Values state_;
  bool is_index_ = false;  // Indices read no arrays, which would need further indices.
};

}  // namespace

void ScalarLoops(Scene& s) {
  Random& random = s.random();
  Values state;
  for (int64_t i = random.Between(2, 7); i > 0; --i) {
    state.push_back(s.Of(random.Pick<ElementType>({kS32, kS32, kS32, kF32, kF32, kF64, kS64, kPred, kU32, kS8,
                                                   kU8, kU64, kS16, kBF16, kF16}),
                         {}));
  }
  for (int64_t i = random.Below(3); i > 0; --i) {
    Dims dims = {random.Pick<int64_t>({1, 2, 3, 4, 5, 8, 9, 16, 33})};
    if (random.Chance(0.2)) dims.push_back(random.Between(1, 5));
    state.push_back(s.Of(random.Pick<ElementType>({kS32, kF32, kF32, kF64, kS64, kS8, kPred}), dims));
  }
  for (Value& v : state) v = Free(v);
  for (const Value& v : Block(s.body, state).Statements(random.Between(2, 5))) s.Add(Free(v));
}

}  // namespace hlo::fuzz
