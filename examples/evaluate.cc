// The library in a few lines: read a module, check it, evaluate it on arguments.
//   evaluate examples/softmax.hlo 'f32[2,3] {{1, 2, 3}, {1, 1, 1}}'

#include <cstdio>
#include <string>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"

namespace {

absl::StatusOr<hlo::Literal> EvaluateFile(const std::string& path, const std::vector<std::string>& inputs) {
  const auto source = hlo::SourceText::Read(path);
  if (!source.ok()) return source.status();
  hlo::Diagnostics diagnostics;
  std::shared_ptr<const hlo::Module> module =
      hlo::Parse(*source, diagnostics, {.infer_shape = hlo::InferMissingShape});
  if (module == nullptr) return diagnostics.ToStatus(**source);
  const auto checked = hlo::Check(module, diagnostics);
  if (!checked.ok()) return checked.status();
  auto arguments = hlo::ReadInputs(*module, inputs);
  if (!arguments.ok()) return arguments.status();
  return hlo::Evaluate(*checked, *std::move(arguments));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: evaluate FILE.hlo [INPUT...]\n");
    return 2;
  }
  const auto value = EvaluateFile(argv[1], {argv + 2, argv + argc});
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", hlo::ToString(*value).c_str());
}
