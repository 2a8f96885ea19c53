#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "fmt/format.h"

namespace hlo::cli {
namespace {

void OnInterrupt(int signal) {
  constexpr char kText[] = "\nhlo-run: ending; Ctrl-C again ends at once\n";
  interrupt_flag.store(true, std::memory_order_relaxed);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  std::signal(signal, SIG_DFL);
}

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  if (sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action = {};
  action.sa_handler = &OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

TerminalProgress::TerminalProgress() {
  if (isatty(STDERR_FILENO) != 0) progress_.emplace(stderr);
}

void TerminalProgress::Erase() {
  if (progress_) progress_->Erase();
}

void TerminalProgress::End() {
  const std::string text = progress_ ? InterruptText(&*progress_) : "";
  progress_.reset();
  fmt::print(stderr, "{}", text);
}

std::string InterruptText(const Progress* progress) {
  if (!IsInterrupted()) return "";
  if (progress == nullptr) return "hlo-run: interrupted\n";
  return fmt::format("hlo-run: interrupted after {}\n", progress->Text());
}

}  // namespace hlo::cli
