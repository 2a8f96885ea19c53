#pragma once

#include <cstddef>

namespace hlo {

// An array on the stack whose elements have no initial values. T[n] would clear elements of std::complex.
template <class T, size_t kCount>
class RawArray {
 public:
  T* data() { return reinterpret_cast<T*>(bytes_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_); }

 private:
  alignas(64) std::byte bytes_[kCount * sizeof(T)];
};

}  // namespace hlo
