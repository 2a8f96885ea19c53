#include "plan/validate/pass_checker.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/compare.h"
#include "hlo_run/io.h"
#include "hlo_run/run.h"
#include "plan/pass.h"
#include "plan/validate/evaluate_graph.h"
#include "types/wide.h"

namespace hlo::plan {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kMaxSeconds = 10;

// A host whose infeed supplies zeros and which discards outfeeds.
class NullHost : public Host {
 public:
  absl::StatusOr<Literal> Read(const Instruction&, const Shape& shape) override {
    return Literal::CreateZeros(shape);
  }
  absl::Status Write(const Instruction&, Literal) override { return absl::OkStatus(); }
};

// Returns the largest finite magnitude.
double MaxMagnitude(const Literal& array) {
  return DispatchWide(array.type(), [&]<class W>() {
    double largest = 0;
    const LoadFn<W> load = Loader<W>(array.type());
    for (int64_t i = 0; i < array.element_count(); ++i) {
      double magnitude = 0;
      if constexpr (std::is_same_v<W, double> || std::is_same_v<W, std::complex<double>>)
        magnitude = std::abs(load(array.data(), i));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
    return largest;
  });
}

// Allows a few roundings relative to the largest element; integers must be equal.
CompareRule ToleranceOf(const Literal& array) {
  if (!IsFloat(array.type()) && !IsComplex(array.type())) return CompareRule::Exact();
  const int64_t bits = BitWidth(array.type()) / (IsComplex(array.type()) ? 2 : 1);
  const double epsilon = bits >= 64 ? 1e-14 : bits >= 32 ? 1e-5 : bits >= 16 ? 3e-2 : 0.5;
  return CompareRule::Close(epsilon * MaxMagnitude(array), epsilon);
}

}  // namespace

PassChecker::PassChecker(absl::Span<const Pass> passes, PlanState& state)
    : passes_(passes), state_(state), host_(std::make_unique<NullHost>()) {}
PassChecker::~PassChecker() = default;

// Some modules do not accept random numbers: run-time sizes, for instance, must be within their bounds.
absl::Status PassChecker::Begin() {
  absl::Status failed;
  for (const InputFill fill : {InputFill::kUniform, InputFill::kOnes, InputFill::kZeros}) {
    HLO_ASSIGN_OR_RETURN(std::vector<Literal> arguments, MakeInputs(state_.module.module(), fill, kSeed));
    arguments_.emplace();
    for (const Literal& argument : arguments) {
      for (Literal& leaf : LeavesOf(argument)) arguments_->push_back(std::move(leaf));
    }
    const absl::StatusOr<Literal> result = hlo::Evaluate(state_.module, std::move(arguments), Options());
    if (result.ok()) {
      before_ = LeavesOf(*result);
      return absl::OkStatus();
    }
    if (failed.ok()) failed = result.status();
  }
  return absl::FailedPreconditionError(
      fmt::format("the passes cannot be checked on random arguments: {}", Message(failed)));
}

EvaluateOptions PassChecker::Options() const {
  return {.max_seconds = kMaxSeconds, .host = host_.get(), .custom_calls = state_.custom_calls};
}

absl::StatusOr<std::vector<Literal>> PassChecker::Evaluate(const Graph& graph) {
  return EvaluateGraph(state_.module, graph, *arguments_, Options());
}

// Returns an empty string if the results agree.
std::string PassChecker::Difference(const Pass& pass, const Graph& graph,
                                    const std::vector<Literal>& after) const {
  // Replaced instructions may round differently; inlining changes no bit.
  const bool is_exact = pass.is_exact || (pass.id == PassId::kFlatten && graph.replacements.empty());
  if (after.size() != before_.size())
    return fmt::format("there are {} results instead of {}", after.size(), before_.size());
  for (size_t k = 0; k < after.size(); ++k) {
    if (graph.results[k] == kNoValue || !before_[k].shape().IsArray()) continue;
    const CompareRule rule = is_exact ? CompareRule::Exact() : ToleranceOf(before_[k]);
    const CompareReport report = CompareArrays(after[k], before_[k], rule, 1);
    if (!report.ok()) return fmt::format("result {}:\n{}", k, ToString(report, 2));
  }
  return "";
}

absl::Status PassChecker::After(const Pass& pass) {
  if (pass.stage != Pass::Stage::kGraph) return absl::OkStatus();
  if (!arguments_.has_value()) HLO_RETURN_IF_ERROR(Begin());
  const Graph& graph = state_.plan.graph;
  absl::StatusOr<std::vector<Literal>> after = Evaluate(graph);
  if (!after.ok()) {
    return absl::InternalError(fmt::format("the graph cannot be evaluated after the pass '{}': {}",
                                           GuiltyPart(pass), Message(after.status())));
  }
  const std::string difference = Difference(pass, graph, *after);
  if (!difference.empty())
    return absl::InternalError(
        fmt::format("the pass '{}' changes the meaning of the module; {}", GuiltyPart(pass), difference));
  before_ = *std::move(after);
  return absl::OkStatus();
}

// Returns the part of the first pass without which the results agree, or the pass itself.
std::string_view PassChecker::GuiltyPart(const Pass& pass) {
  if (&pass != &passes_.front()) return pass.name;
  for (const Pass& part : passes_) {
    if (part.part_of != pass.name || !state_.passes.Contains(part.id)) continue;
    PlanState without{state_.module, state_.custom_calls, state_.target, state_.options, state_.passes};
    without.passes.Remove(part.id);
    if (!pass.run(without).ok()) continue;
    const absl::StatusOr<std::vector<Literal>> after = Evaluate(without.plan.graph);
    if (after.ok() && Difference(pass, without.plan.graph, *after).empty()) return part.name;
  }
  return pass.name;
}

}  // namespace hlo::plan
