// Shape rules of map, sort, topk and scan (shape-rules 3.19).

#include <algorithm>

#include "base/counted.h"
#include "check/support.h"
#include "check/window.h"

namespace hlo::check {
namespace {

constexpr std::string_view kSortScanRule = "3.19";

// Sets the operand whose sizes all non-scalar operands must have.
bool MapReference(RuleContext& c, int64_t* reference) {
  *reference = 0;
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    const Shape& x = c.operand(i);
    const Shape& known = c.operand(*reference);
    if (SameDimensions(x, known)) continue;
    if (SameFp(x.type(), known.type()) && (x.IsScalar() || known.IsScalar())) {
      if (known.IsScalar()) *reference = i;
      continue;
    }
    c.NoteOperand(c.OperandError(i, kSortScanRule, "map takes arrays of equal sizes, but they are {} and {}",
                                 Text(known), Text(x)),
                  *reference);
    return false;
  }
  return true;
}

void CheckMapDimensions(RuleContext& c, int64_t rank) {
  const AttrEntry* entry = c.instruction().Find(AttrId::dimensions);
  if (entry == nullptr) return;
  const auto dimensions = entry->value.As<IntList>();
  bool all = static_cast<int64_t>(dimensions.size()) == rank;
  for (int64_t i = 0; all && i < rank; ++i) all = dimensions[i] == i;
  if (all) return;
  if (c.declared().IsValid()) {
    c.Warning(entry->range, kSortScanRule, "dimensions {} of map are ignored: it always maps over all {}",
              Text(dimensions), rank);
  } else {
    c.Error(entry->range, kSortScanRule, "dimensions {} must be all {} for the shape to be inferred",
            Text(dimensions), rank);
  }
}

}  // namespace

Inferred Map(RuleContext& c) {
  if (c.operand_count() == 0) {
    c.Error({}, kSortScanRule, "map needs at least one operand");
    return Failed();
  }
  const Computation& map = *c.Get<attr::to_apply>();
  const SourceRange at = c.range_of<attr::to_apply>();
  int64_t reference = 0;
  if (!RequireArrays(c, kSortScanRule) || !MapReference(c, &reference)) return Failed();
  if (static_cast<int64_t>(map.parameters().size()) != c.operand_count()) {
    c.Error(at, kSortScanRule, "'{}' has {}, but the instruction has {}", map.name(),
            Counted(map.parameters().size(), "parameter"), Counted(c.operand_count(), "operand"));
    return Failed();
  }
  const Shape& root = map.root()->shape();
  bool ok = true;
  if (!root.IsScalar()) {
    c.Error(at, kSortScanRule, "'{}' must give a scalar, but it gives {}", map.name(), Text(root))
        .Note(map.root()->name_range(), "here");
    ok = false;
  }
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    const Shape& parameter = map.parameter(i)->shape();
    if (parameter.IsScalar() && SameFp(parameter.type(), c.operand(i).type())) continue;
    c.NoteOperand(c.Error(at, kSortScanRule, "parameter {} of '{}' must be {}[], but it is {}", i, map.name(),
                          Name(c.operand(i).type()), Text(parameter)),
                  i);
    ok = false;
  }
  if (!ok) return Failed();
  CheckParameterPrecision(c, at, map);
  const int64_t errors = c.diagnostics().error_count();
  CheckMapDimensions(c, c.operand(reference).rank());
  if (c.diagnostics().error_count() != errors) return Failed();
  Shape result = c.operand(reference);
  result.clear_layout();
  result.set_type(root.type());
  return result;
}

Inferred Sort(RuleContext& c) {
  int64_t d = 0;
  if (!RequireArrays(c, kSortScanRule) || !RequireOneDimension(c, kSortScanRule, &d)) return Failed();
  const Shape& first = c.operand(0);
  bool ok = true;
  for (int64_t i = 1; i < c.operand_count(); ++i) {
    if (SameDimensions(c.operand(i), first)) continue;
    c.NoteOperand(
        c.OperandError(i, kSortScanRule, "arrays that sort together have equal sizes, but they are {} and {}",
                       Text(first), Text(c.operand(i))),
        0);
    ok = false;
  }
  if (d >= first.rank()) {
    c.NoteOperand(c.Error(c.range_of<attr::dimensions>(), kSortScanRule, "dimension {} does not exist in {}",
                          d, Text(first)),
                  0);
    ok = false;
  } else if (d < 0) {
    c.Warning(c.range_of<attr::dimensions>(), kSortScanRule,
              "dimension {} is negative; this sort cannot be run", d);
  }
  const Computation& comparator = *c.Get<attr::to_apply>();
  const SourceRange at = c.range_of<attr::to_apply>();
  if (static_cast<int64_t>(comparator.parameters().size()) != 2 * c.operand_count()) {
    c.Error(at, kSortScanRule, "'{}' has {}, but comparing {} takes {}", comparator.name(),
            Counted(comparator.parameters().size(), "parameter"), Counted(c.operand_count(), "value"),
            2 * c.operand_count());
    return Failed();
  }
  for (int64_t k = 0; k < 2 * c.operand_count(); ++k) {
    const Shape& parameter = comparator.parameter(k)->shape();
    if (parameter.IsScalar() && SameFp(parameter.type(), c.operand(k / 2).type())) continue;
    c.NoteOperand(c.Error(at, kSortScanRule, "parameter {} of '{}' must be {}[], but it is {}", k,
                          comparator.name(), Name(c.operand(k / 2).type()), Text(parameter)),
                  k / 2);
    ok = false;
  }
  if (const Shape& result = comparator.root()->shape(); !result.IsScalar(ElementType::kPred)) {
    c.Error(at, kSortScanRule, "'{}' must give pred[], but it gives {}", comparator.name(), Text(result));
    ok = false;
  }
  if (!ok) return Failed();
  return c.operand_count() == 1 ? Like(first) : TupleOf(c.instruction().operands());
}

Inferred Topk(RuleContext& c) {
  if (!RequireArray(c, 0, kSortScanRule)) return Failed();
  const Shape& x = c.operand(0);
  const int64_t k = c.Get<attr::k>();
  if (x.rank() == 0) {
    c.OperandError(0, kSortScanRule, "topk takes an array of rank 1 or more, but its operand is {}", Text(x));
    return Failed();
  }
  const int64_t last = x.rank() - 1;
  if (k < 0 || (!x.IsUnbounded(last) && k > x.dim(last))) {
    c.NoteOperand(c.Error(c.range_of<attr::k>(), kSortScanRule,
                          "k is {}, but the last dimension has {} elements", k, SizeText(x.dim(last))),
                  0);
    return Failed();
  }
  Shape values = x;
  values.clear_layout();
  values.set_dim(last, k);
  Shape indices = values;
  indices.set_type(ElementType::kS32);
  return Shape::Tuple({std::move(values), std::move(indices)});
}

namespace {

// Returns the number of results of scan's computation or instruction: 1, or the elements of a tuple.
int64_t Arity(const Shape& shape) {
  return shape.IsTuple() ? static_cast<int64_t>(shape.elements().size()) : 1;
}
const Shape& ElementOf(const Shape& shape, int64_t i) { return shape.IsTuple() ? shape.element(i) : shape; }

// True if `whole` is `part` with dimension d of size n inserted.
bool IsStackOf(const Shape& whole, const Shape& part, int64_t d, int64_t n) {
  if (!whole.IsArray() || !part.IsArray() || whole.type() != part.type()) return false;
  if (whole.rank() != part.rank() + 1 || d >= whole.rank() || !SizesMatch(whole.dim(d), n)) return false;
  for (int64_t i = 0; i < part.rank(); ++i) {
    if (!SizesMatch(whole.dim(i < d ? i : i + 1), part.dim(i))) return false;
  }
  return true;
}

struct ScanForm {
  const Computation* body;
  int64_t dimension, carries, inputs, outputs;
};

bool ReadScan(RuleContext& c, ScanForm* scan) {
  if (!RequireOneDimension(c, kSortScanRule, &scan->dimension)) return false;
  scan->body = c.Get<attr::to_apply>();
  scan->carries = c.Get<attr::num_carries>();
  const int64_t results = Arity(scan->body->root()->shape());
  const SourceRange at = c.range_of<attr::num_carries>();
  if (scan->carries < 0 || scan->carries > std::min(c.operand_count(), results)) {
    c.Error(at, kSortScanRule, "num_carries is {}, but the instruction has {} and '{}' gives {}",
            scan->carries, Counted(c.operand_count(), "operand"), scan->body->name(),
            Counted(results, "value"));
    return false;
  }
  scan->inputs = c.operand_count() - scan->carries;
  scan->outputs = results - scan->carries;
  if (scan->inputs == 0 && scan->outputs == 0) {
    c.Error(at, kSortScanRule, "a scan without inputs and outputs has no length");
    return false;
  }
  if (static_cast<int64_t>(scan->body->parameters().size()) != c.operand_count()) {
    c.Error(c.range_of<attr::to_apply>(), kSortScanRule, "'{}' has {}, but the instruction has {}",
            scan->body->name(), Counted(scan->body->parameters().size(), "parameter"),
            Counted(c.operand_count(), "operand"));
    return false;
  }
  if (scan->dimension < 0) {
    c.Error(c.range_of<attr::dimensions>(), kSortScanRule, "dimension {} is negative", scan->dimension);
    return false;
  }
  return true;
}

bool CheckScanOperands(RuleContext& c, const ScanForm& scan, int64_t length) {
  bool ok = true;
  const Shape& root = scan.body->root()->shape();
  for (int64_t i = 0; i < c.operand_count(); ++i) {
    const Shape& parameter = scan.body->parameter(i)->shape();
    const bool input = i < scan.inputs;
    if (input ? IsStackOf(c.operand(i), parameter, scan.dimension, length)
              : Compatible(c.operand(i), parameter))
      continue;
    c.OperandError(
        i, kSortScanRule, "operand {} is {}, but parameter {} of '{}' is {}{}", i, Text(c.operand(i)), i,
        scan.body->name(), Text(parameter),
        input ? fmt::format(", without dimension {} of size {}", scan.dimension, SizeText(length)) : "");
    ok = false;
  }
  for (int64_t j = 0; j < scan.carries; ++j) {
    const Shape& parameter = scan.body->parameter(scan.inputs + j)->shape();
    const Shape& result = ElementOf(root, scan.outputs + j);
    if (Compatible(parameter, result)) continue;
    c.Error(c.range_of<attr::to_apply>(), kSortScanRule, "'{}' takes carry {} as {}, but gives {}",
            scan.body->name(), j, Text(parameter), Text(result));
    ok = false;
  }
  return ok;
}

void CheckScanResults(RuleContext& c, const ScanForm& scan, int64_t length) {
  const Shape& root = scan.body->root()->shape();
  for (int64_t i = 0; i < scan.outputs + scan.carries; ++i) {
    const Shape& result = ElementOf(c.declared(), i);
    const Shape& given = ElementOf(root, i);
    const bool output = i < scan.outputs;
    if (output ? IsStackOf(result, given, scan.dimension, length) : Compatible(result, given)) continue;
    c.Error(c.instruction().shape_range(), kSortScanRule, "result {} is {}, but '{}' gives {}{}", i,
            Text(result), scan.body->name(), Text(given),
            output ? fmt::format(", to be stacked {} times in dimension {}", SizeText(length), scan.dimension)
                   : "");
  }
}

// Infers the result shape that the text omits.
Inferred StackedResults(RuleContext& c, const ScanForm& scan, int64_t length, bool dynamic) {
  const Shape& root = scan.body->root()->shape();
  std::vector<Shape> results;
  for (int64_t i = 0; i < scan.outputs + scan.carries; ++i) {
    const Shape& given = ElementOf(root, i);
    if (i >= scan.outputs) {
      results.push_back(given);
      continue;
    }
    if (!given.IsArray() || scan.dimension > given.rank() || given.rank() == Shape::kMaxRank) {
      c.Error(c.range_of<attr::dimensions>(), kSortScanRule, "dimension {} cannot be inserted into {}",
              scan.dimension, Text(given));
      return Failed();
    }
    Shape stacked = Shape::Scalar(given.type());
    for (int64_t d = 0; d <= given.rank(); ++d) {
      if (d == scan.dimension) stacked.AppendDim(length, dynamic);
      if (d < given.rank()) stacked.AppendDim(given.dim(d), given.IsDynamic(d));
    }
    results.push_back(std::move(stacked));
  }
  return root.IsTuple() ? Inferred(Shape::Tuple(std::move(results))) : Inferred(std::move(results[0]));
}

}  // namespace

Inferred Scan(RuleContext& c) {
  ScanForm scan;
  if (!ReadScan(c, &scan)) return Failed();
  if (c.declared().IsValid() && Arity(c.declared()) != scan.outputs + scan.carries) {
    c.Error(c.instruction().shape_range(), kSortScanRule, "'{}' gives {}, but the instruction declares {}",
            scan.body->name(), Counted(scan.outputs + scan.carries, "value"), Text(c.declared()));
    return Failed();
  }
  // Without inputs the first output determines the length of the scan.
  if (scan.inputs == 0 && !c.declared().IsValid()) return AsDeclared();
  const Shape& measured = scan.inputs > 0 ? c.operand(0) : ElementOf(c.declared(), 0);
  if (!measured.IsArray() || scan.dimension >= measured.rank()) {
    c.Error(c.range_of<attr::dimensions>(), kSortScanRule, "dimension {} does not exist in {}",
            scan.dimension, Text(measured));
    return Failed();
  }
  const int64_t length = measured.dim(scan.dimension);
  if (!CheckScanOperands(c, scan, length)) return Failed();
  if (c.options().layout_sensitive && !c.Get<attr::is_associative>()) {
    c.ErrorIfStrict({}, kSortScanRule, "the scan is not marked associative");
  }
  if (!c.declared().IsValid()) return StackedResults(c, scan, length, measured.IsDynamic(scan.dimension));
  CheckScanResults(c, scan, length);
  return AsDeclared();
}

}  // namespace hlo::check
