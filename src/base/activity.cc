#include "base/activity.h"

#include <utility>

namespace hlo {
namespace {

thread_local ActivityListener* listening = nullptr;

}  // namespace

ActivityScope::ActivityScope(ActivityListener* listener) : outer_(std::exchange(listening, listener)) {}
ActivityScope::~ActivityScope() { listening = outer_; }

ActivityListener* CurrentActivityListener() { return listening; }

void Report(const Activity& activity) {
  if (listening != nullptr) listening->OnActivity(activity);
}

}  // namespace hlo
