#include "base/activity.h"

#include <utility>

namespace hlo {
namespace {

thread_local ActivityListener* listening = nullptr;
thread_local const std::atomic<bool>* cancelling = nullptr;

}  // namespace

ActivityScope::ActivityScope(ActivityListener* listener) : outer_(std::exchange(listening, listener)) {}
ActivityScope::~ActivityScope() { listening = outer_; }

ActivityListener* CurrentActivityListener() { return listening; }

void Report(const Activity& activity) {
  if (listening != nullptr) listening->OnActivity(activity);
}

CancelScope::CancelScope(const std::atomic<bool>* flag) : outer_(std::exchange(cancelling, flag)) {}
CancelScope::~CancelScope() { cancelling = outer_; }

absl::Status CheckCancelled() {
  if (cancelling == nullptr || !cancelling->load(std::memory_order_relaxed)) return absl::OkStatus();
  return absl::CancelledError("cancelled");
}

}  // namespace hlo
