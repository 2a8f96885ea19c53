#include "observe/progress.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

// Returns the width of a line that does not wrap.
size_t WidthOf(std::FILE* terminal) {
  constexpr size_t kDefault = 120, kMost = 200;
  winsize size = {};
  const bool is_known = ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? std::min<size_t>(size.ws_col - 1, kMost) : kDefault;
}

std::string LoopsText(const std::vector<RunningLoop>& loops) {
  std::string text;
  for (const RunningLoop& loop : loops) {
    if (loop.iteration == 0) continue;
    const std::optional<int64_t> count =
        loop.trip_count.has_value() ? loop.trip_count : StaticTripCount(*loop.instruction);
    text += fmt::format(", {} iteration {}", loop.instruction->name(), loop.iteration);
    if (count.has_value()) text += fmt::format(" of {}", *count);
  }
  return text;
}

}  // namespace

Progress::Progress(std::FILE* terminal, std::chrono::milliseconds delay, std::chrono::milliseconds interval)
    : terminal_(terminal),
      scope_(this),
      thread_([this, delay, interval] { ShowUntilTheEnd(delay, interval); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_all();
  thread_.join();
  if (shown_) Print("");
}

// True unless a loop runs. Bytecode reports steps at depth 0, and a loop again after its end.
bool Progress::IsOutsideOfLoops(const StepView& step) {
  const int64_t depth = step.depth();
  if (depth > loop_depth_) return false;
  loop_depth_ = kNoLoop;
  return step.loops().empty();
}

absl::Status Progress::BeforeStep(const StepView& step) {
  // Only one thread writes these.
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  instruction_.store(&step.instruction(), std::memory_order_relaxed);
  if (IsOutsideOfLoops(step)) {
    work_.Begin(step.instruction(), step.depth());
    if (step.instruction().opcode() == Opcode::kWhile || step.kernel() == "while") loop_depth_ = step.depth();
  }
  const bool has_left_loops = was_in_loops_ && step.depth() == 0;
  if (!wants_loops_.load(std::memory_order_relaxed) && !has_left_loops) return absl::OkStatus();
  wants_loops_.store(false, std::memory_order_relaxed);
  const std::vector<RunningLoop> loops = step.loops();
  work_.SetLoops(loops);
  const std::optional<double> part = work_.DonePart();
  std::string text = LoopsText(loops);
  was_in_loops_ = !text.empty();
  const std::lock_guard lock(mutex_);
  loops_ = std::move(text);
  run_.Update(part, Clock::now());
  return absl::OkStatus();
}

absl::Status Progress::AfterStep(const StepView& step) {
  if (IsOutsideOfLoops(step)) work_.End(step.instruction(), step.depth(), [&] { return step.cost(); });
  return absl::OkStatus();
}

std::string Progress::Text() const {
  const std::lock_guard lock(mutex_);
  return cancelled_at_.empty() ? Line() : cancelled_at_;
}

void Progress::Finish(const absl::Status& outcome) {
  const std::lock_guard lock(mutex_);
  if (absl::IsCancelled(outcome)) cancelled_at_ = Line();
  instruction_.store(nullptr, std::memory_order_relaxed);
  loops_.clear();
  work_ = WorkEstimate();
  loop_depth_ = kNoLoop;
  run_ = RemainingTime();
}

void Progress::OnActivity(const Activity& activity) {
  const std::lock_guard lock(mutex_);
  if (!activity.what.empty()) activity_ = activity.what;
  if (activity.total <= 0) {
    counting_ = RemainingTime();
    return;
  }
  const std::string of = activity.unit.empty() ? "" : fmt::format(" of {} {}", activity.total, activity.unit);
  const double part = static_cast<double>(activity.done) / static_cast<double>(activity.total);
  if (of == counted_of_ && activity.done >= counted_)
    counting_.Update(part, Clock::now());
  else
    counting_.Start(part, Clock::now());
  counted_of_ = of;
  counted_ = activity.done;
}

std::string Progress::Line() const {
  const Clock::time_point now = Clock::now();
  std::string line = fmt::format("{:.1f} s, ", std::chrono::duration<double>(now - start_).count());
  const Instruction* instruction = instruction_.load(std::memory_order_relaxed);
  if (instruction == nullptr) {
    line += activity_;
    if (counting_.is_known()) line += ": " + counting_.PercentText() + counted_of_ + counting_.LeftText(now);
  } else {
    if (run_.is_known()) line += run_.PercentText() + run_.LeftText(now) + ", ";
    line += fmt::format("{} steps{}, at {} ({}) {} of {} in {}", steps_.load(std::memory_order_relaxed),
                        loops_, instruction->name(), Name(instruction->opcode()), instruction->index() + 1,
                        instruction->parent()->instructions().size(), instruction->parent()->name());
  }
  return line;
}

void Progress::Erase() {
  const std::lock_guard lock(mutex_);
  if (shown_) Print("");
}

void Progress::Print(const std::string& line) {
  fmt::print(terminal_, "\r\033[K{}", std::string_view(line).substr(0, WidthOf(terminal_)));
  std::fflush(terminal_);
}

void Progress::ShowUntilTheEnd(std::chrono::milliseconds delay, std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  const auto is_ended = [this] { return is_ended_; };
  if (ended_.wait_for(lock, delay - std::min(delay, interval), is_ended)) return;
  while (true) {
    // Requests the loop iterations from the next step.
    wants_loops_.store(true, std::memory_order_relaxed);
    if (ended_.wait_for(lock, interval, is_ended)) return;
    const std::string line = Line();
    shown_ = true;
    // The terminal may block, which must not block the run.
    lock.unlock();
    Print(line);
    lock.lock();
  }
}

}  // namespace hlo
