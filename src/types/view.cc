#include "types/view.h"

#include <cstring>

#include "base/check.h"

namespace hlo {
namespace {

template <int64_t kWidth>
struct Bytes {
  std::byte bytes[kWidth];
};

// The two views as nested loops with as few dimensions as possible: sizes, and strides in each view.
struct Runs {
  Index dims, from, to;
};

Runs Merge(const View& from, const View& to) {
  Runs runs;
  for (int64_t d = 0; d < from.dims.rank(); ++d) {
    if (from.dims[d] == 1) continue;
    const bool continues = !runs.dims.empty() && runs.from.back() == from.strides[d] * from.dims[d] &&
                           runs.to.back() == to.strides[d] * to.dims[d];
    if (continues) {
      runs.dims.back() *= from.dims[d];
      runs.from.back() = from.strides[d];
      runs.to.back() = to.strides[d];
    } else {
      runs.dims.push_back(from.dims[d]);
      runs.from.push_back(from.strides[d]);
      runs.to.push_back(to.strides[d]);
    }
  }
  if (runs.dims.empty()) return {{1}, {0}, {0}};
  return runs;
}

template <class T>
void CopyRun(const T* source, int64_t from_step, T* target, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(target, source, count * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) target[i * to_step] = source[i * from_step];
}

template <class T>
void Copy(const T* source, T* target, Runs runs) {
  const int64_t count = runs.dims.back(), from_step = runs.from.back(), to_step = runs.to.back();
  runs.dims.pop_back();
  for (const Index& i : EachIndex(runs.dims)) {
    CopyRun(source + Offset(i, runs.from), from_step, target + Offset(i, runs.to), to_step, count);
  }
}

}  // namespace

void CopyElements(int64_t width, const std::byte* source, const View& from, std::byte* target,
                  const View& to) {
  HLO_CHECK(from.dims == to.dims);
  if (Product(from.dims) == 0) return;
  const auto copy = [&]<int64_t kWidth>() {
    using T = Bytes<kWidth>;
    Copy(reinterpret_cast<const T*>(source) + from.offset, reinterpret_cast<T*>(target) + to.offset,
         Merge(from, to));
  };
  switch (width) {
    case 1:
      return copy.operator()<1>();
    case 2:
      return copy.operator()<2>();
    case 4:
      return copy.operator()<4>();
    case 8:
      return copy.operator()<8>();
    case 16:
      return copy.operator()<16>();
  }
  HLO_CHECK(false && "no element has this width");
}

void FillElements(int64_t width, const std::byte* value, std::byte* target, const View& to) {
  CopyElements(width, value, {to.dims, Zeros(to.dims.rank())}, target, to);
}

}  // namespace hlo
