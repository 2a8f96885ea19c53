#include "debug/loops.h"

#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::debug {

std::string LoopsText(const std::vector<RunningLoop>& loops) {
  std::string text;
  for (const RunningLoop& loop : loops)
    text += fmt::format(", iteration {} of %{}", loop.iteration, loop.instruction->name());
  return text;
}

nlohmann::ordered_json LoopsJson(const std::vector<RunningLoop>& loops) {
  auto json = nlohmann::ordered_json::array();
  for (const RunningLoop& loop : loops)
    json.push_back({{"loop", loop.instruction->name()}, {"iteration", loop.iteration}});
  return json;
}

std::vector<int64_t> IterationsOf(const std::vector<RunningLoop>& loops) {
  std::vector<int64_t> iterations;
  for (const RunningLoop& loop : loops) iterations.push_back(loop.iteration);
  return iterations;
}

}  // namespace hlo::debug
