#pragma once
// This file splits a line of elements into chunks for all threads, or keeps it whole.

#include <algorithm>
#include <cstdint>

#include "base/arithmetic.h"
#include "base/parallel.h"

namespace hlo::cpu {

class LineChunks {
 public:
  static constexpr int64_t kLength = 16 << 10;  // Elements per chunk; a power of two.

  LineChunks(int64_t length, bool is_split) : length_(length), each_(is_split ? kLength : length) {}

  // True if all threads should share each line, one line after the other.
  static bool ShouldSplit(int64_t lines, int64_t length) {
    return lines < ThreadCount() && length >= 4 * kLength;
  }

  int64_t length() const { return length_; }
  int64_t count() const { return each_ == length_ ? 1 : CeilDiv(length_, each_); }
  int64_t begin(int64_t p) const { return p * each_; }
  int64_t end(int64_t p) const { return std::min(length_, (p + 1) * each_); }

  // Calls body(p, begin(p), end(p)) for every chunk; `nanoseconds` is the time per element.
  template <class Body>
  void ForEach(double nanoseconds, const Body& body) const {
    if (each_ == length_) return body(0, 0, length_);
    ParallelFor(count(), nanoseconds * static_cast<double>(length_),
                [&](int64_t p) { body(p, begin(p), end(p)); });
  }

 private:
  int64_t length_, each_;
};

}  // namespace hlo::cpu
