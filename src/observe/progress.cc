#include "observe/progress.h"

#include <string>

#include "fmt/format.h"

namespace hlo {

absl::Status Progress::BeforeStep(const StepView& step) {
  ++steps_;
  // Short steps look at the clock now and then; the steps of the entry computation always do.
  if (step.depth() > 0 && steps_ % 256 != 0) return absl::OkStatus();
  const Clock::time_point now = Clock::now();
  if (now < next_) return absl::OkStatus();
  next_ = now + kInterval;
  const Instruction& instruction = step.instruction();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string line = fmt::format("{:.1f} s, {} steps, at {} ({}) {} of {} in {}", seconds, steps_,
                                 instruction.name(), Name(instruction.opcode()), instruction.index() + 1,
                                 instruction.parent()->instructions().size(), instruction.parent()->name());
  constexpr size_t kColumns = 100;
  if (line.size() > kColumns) line.resize(kColumns);
  fmt::print(terminal_, "\r\033[K{}", line);
  std::fflush(terminal_);
  shown_ = true;
  return absl::OkStatus();
}

void Progress::Finish(const absl::Status& /*outcome*/) {
  if (!shown_) return;
  fmt::print(terminal_, "\r\033[K");
  std::fflush(terminal_);
}

}  // namespace hlo
