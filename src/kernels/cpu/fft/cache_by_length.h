#pragma once
// A cache of plans and tables, indexed by length.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace hlo::cpu {

// The cache is cleared when its objects would have more than kMaxCached elements together.
template <class Made>
class CacheByLength {
 public:
  template <class Make>
  std::shared_ptr<const Made> Get(int64_t n, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = made_.find(n); found != made_.end()) return found->second;
    }
    std::shared_ptr<const Made> fresh = make(n);
    const std::lock_guard lock(mutex_);
    if (elements_ + n > kMaxCached) {
      made_.clear();
      elements_ = 0;
    }
    made_[n] = fresh;
    elements_ += n;
    return fresh;
  }

 private:
  static constexpr int64_t kMaxCached = int64_t{1} << 22;

  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<const Made>> made_;
  int64_t elements_ = 0;
};

}  // namespace hlo::cpu
