#pragma once
// Handles Ctrl-C while no Python code runs.

#include <atomic>

namespace hlo::python {

// For its lifetime, SIGINT also sets a flag that cancels a run; Python's own handler still runs. Use it in
// the main thread; elsewhere `enabled` is false and flag() null.
class InterruptGuard {
 public:
  explicit InterruptGuard(bool enabled);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>* flag() const;

 private:
  bool is_installed_ = false;
};

}  // namespace hlo::python
