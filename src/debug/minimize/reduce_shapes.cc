// Reductions of dimensions: all dimensions of one size shrink together, where the checker accepts the module.

#include <set>

#include "base/status.h"
#include "debug/extract/resize.h"
#include "debug/minimize/reductions.h"

namespace hlo::debug {
namespace {

absl::StatusOr<SharedCase> WithSizes(const TestCase& test, const SizeMap& sizes) {
  const std::shared_ptr<Module> module = CopyModule(test);
  HLO_RETURN_IF_ERROR(ResizeShapes(*module, sizes));
  std::vector<Literal> inputs;
  for (const Literal& input : test.inputs) {
    HLO_ASSIGN_OR_RETURN(inputs.emplace_back(), LeadingPart(input, sizes(input.shape())));
  }
  return MakeTestCase(module, inputs);
}

}  // namespace

std::vector<Proposal> ProposeSmallerShapes(const SharedCase& test) {
  const std::vector<int64_t> sizes = SizesOf(test->module.module());
  std::vector<Proposal> proposals;
  for (auto from = sizes.rbegin(); from != sizes.rend(); ++from) {
    std::set<int64_t> smaller;
    for (const int64_t to : {int64_t{1}, int64_t{2}, *from / 8, *from / 2, *from - 1}) {
      if (to >= 1 && to < *from) smaller.insert(to);
    }
    for (const int64_t to : smaller) {
      for (const bool multiples : {true, false}) {
        const SizeMap resized({{*from, to}}, multiples);
        proposals.push_back([=] { return WithSizes(*test, resized); });
      }
    }
  }
  return proposals;
}

}  // namespace hlo::debug
