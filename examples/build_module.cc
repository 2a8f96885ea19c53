// A module written in C++: softmax over the rows of a matrix, printed as HLO text and evaluated.

#include <cstdio>

#include "hlo_run/builder.h"
#include "hlo_run/parse.h"
#include "hlo_run/print.h"
#include "hlo_run/run.h"

namespace {

absl::StatusOr<hlo::CheckedModule> Softmax() {
  using namespace hlo::build;
  Builder b("softmax");
  const Op x = b.Parameter(0, "f32[2,3]", "x");
  const Function add = b.Scalar(hlo::Opcode::kAdd, x.type()), max = b.Scalar(hlo::Opcode::kMaximum, x.type());
  const Op largest = Reduce(x, b.Constant("f32[] -inf"), max, {1});
  const Op powers = Exp(Sub(x, largest, {0}));  // Dimension 0 of `largest` is dimension 0 of `x`.
  return b.Build(Div(powers, Reduce(powers, ScalarLike(x, 0), add, {1}), {0}));
}

}  // namespace

int main() {
  const auto module = Softmax();
  if (!module.ok()) {
    std::fprintf(stderr, "%s\n", module.status().ToString().c_str());
    return 1;
  }
  const hlo::SourceText input("input", "f32[2,3] {{1, 2, 3}, {1, 1, 1}}");
  const auto argument = hlo::ParseLiteral(input, {});
  const auto value = hlo::Evaluate(*module, {*argument});
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n%s\n", hlo::Print(module->module()).c_str(), hlo::ToString(*value).c_str());
}
