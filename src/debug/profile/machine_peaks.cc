// Measures the machine's peak arithmetic throughput and memory bandwidth in large kernels of the fast engine.

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "base/status.h"
#include "debug/golden_folder.h"
#include "debug/profile/profile_report.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"

namespace hlo::debug {
namespace {

constexpr int kRuns = 5;
constexpr double kProductFlops = 2.0 * 1024 * 1024 * 1024;
constexpr std::string_view kProduct = R"(HloModule product
ENTRY e {
  x = f32[1024,1024] parameter(0)
  y = f32[1024,1024] parameter(1)
  ROOT r = f32[1024,1024] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";
// Reads and writes 128 MiB, which fits no cache.
constexpr double kStreamBytes = 2.0 * 4 * 32 * 1024 * 1024;
constexpr std::string_view kStream = R"(HloModule stream
ENTRY e {
  x = f32[33554432] parameter(0)
  ROOT r = f32[33554432] negate(x)
}
)";

absl::StatusOr<double> BestSeconds(std::string_view text) {
  HLO_ASSIGN_OR_RETURN(const CheckedModule module, CheckedText(std::string(text)));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> arguments,
                       MakeInputs(module.module(), InputFill::kOnes, 0));
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, Engine::kFast));
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const double start = SteadySeconds();
    HLO_RETURN_IF_ERROR(executable.Run(arguments).status());
    best = std::min(best, SteadySeconds() - start);
  }
  return best;
}

}  // namespace

absl::StatusOr<MachinePeaks> MeasurePeaks() {
  HLO_ASSIGN_OR_RETURN(const double product, BestSeconds(kProduct));
  HLO_ASSIGN_OR_RETURN(const double stream, BestSeconds(kStream));
  return MachinePeaks{kProductFlops / product, kStreamBytes / stream};
}

}  // namespace hlo::debug
