#include "python/interrupt.h"

#include <csignal>

namespace hlo::python {
namespace {

std::atomic<bool> g_interrupted{false};
struct sigaction g_previous;

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  g_interrupted = true;
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(signal, info, context);
  } else {
    g_previous.sa_handler(signal);
  }
}

}  // namespace

InterruptGuard::InterruptGuard(bool enabled) {
  if (!enabled || sigaction(SIGINT, nullptr, &g_previous) != 0) return;
  // Does nothing if SIGINT has the default disposition or is ignored.
  if ((g_previous.sa_flags & SA_SIGINFO) == 0 &&
      (g_previous.sa_handler == SIG_DFL || g_previous.sa_handler == SIG_IGN))
    return;
  g_interrupted = false;
  struct sigaction action = {};
  action.sa_sigaction = &OnInterrupt;
  action.sa_flags = SA_SIGINFO;
  action.sa_mask = g_previous.sa_mask;
  is_installed_ = sigaction(SIGINT, &action, nullptr) == 0;
}

InterruptGuard::~InterruptGuard() {
  if (is_installed_) sigaction(SIGINT, &g_previous, nullptr);
}

const std::atomic<bool>* InterruptGuard::flag() const { return is_installed_ ? &g_interrupted : nullptr; }

}  // namespace hlo::python
