#include "observe/progress.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace hlo {
namespace {

constexpr size_t kColumns = 100;

// Parses the trip count in XLA's backend_config={"known_trip_count":{"n":"5"}}.
std::optional<int64_t> KnownTripCount(const Instruction& loop) {
  std::string_view text = loop.Get<attr::backend_config>().text;
  for (const std::string_view key : {"known_trip_count", "\"n\""}) {
    const size_t at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + key.size());
  }
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = text.find_first_of(kDigits);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  text = text.substr(0, text.find_first_not_of(kDigits));
  int64_t count = 0;
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &count) ? std::optional(count)
                                                                               : std::nullopt;
}

std::string LoopsText(const StepView& step) {
  std::string text;
  for (const RunningLoop& loop : step.loops()) {
    if (loop.iteration == 0) continue;
    const std::optional<int64_t> count =
        loop.trip_count.has_value() ? loop.trip_count : KnownTripCount(*loop.instruction);
    text += fmt::format(", {} iteration {}", loop.instruction->name(), loop.iteration);
    if (count.has_value()) text += fmt::format(" of {}", *count);
  }
  return text;
}

std::string AmountText(const Activity& activity) {
  if (activity.total <= 0) return "";
  const double percent = 100.0 * static_cast<double>(activity.done) / static_cast<double>(activity.total);
  return fmt::format(": {:.0f} % of {} {}", percent, activity.total, activity.unit);
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

absl::Status Progress::BeforeStep(const StepView& step) {
  // Only one thread writes these.
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  instruction_.store(&step.instruction(), std::memory_order_relaxed);
  const bool has_left_loops = was_in_loops_ && step.depth() == 0;
  if (!wants_loops_.load(std::memory_order_relaxed) && !has_left_loops) return absl::OkStatus();
  wants_loops_.store(false, std::memory_order_relaxed);
  std::string loops = LoopsText(step);
  was_in_loops_ = !loops.empty();
  const std::lock_guard lock(mutex_);
  loops_ = std::move(loops);
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
}

void Progress::OnActivity(const Activity& activity) {
  const std::lock_guard lock(mutex_);
  if (!activity.what.empty()) activity_ = activity.what;
  amount_ = AmountText(activity);
}

std::string Progress::Line() const {
  std::string line = fmt::format("{:.1f} s, ", std::chrono::duration<double>(Clock::now() - start_).count());
  const Instruction* instruction = instruction_.load(std::memory_order_relaxed);
  if (instruction == nullptr) {
    line += activity_ + amount_;
  } else {
    line += fmt::format("{} steps{}, at {} ({}) {} of {} in {}", steps_.load(std::memory_order_relaxed),
                        loops_, instruction->name(), Name(instruction->opcode()), instruction->index() + 1,
                        instruction->parent()->instructions().size(), instruction->parent()->name());
  }
  return line.substr(0, kColumns);
}

void Progress::Print(const std::string& line) {
  fmt::print(terminal_, "\r\033[K{}", line);
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
    // The terminal may block, which must not block the run.
    lock.unlock();
    Print(line);
    shown_ = true;
    lock.lock();
  }
}

}  // namespace hlo
