#include "text/iota.h"

#include <algorithm>

namespace hlo::text {

std::optional<int64_t> Product(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> ProductOf(const std::vector<int64_t>& values) {
  std::optional<int64_t> result = 1;
  for (int64_t value : values) {
    result = Product(*result, value);
    if (!result) return std::nullopt;
  }
  return result;
}

bool IsPermutation(const std::vector<int64_t>& values, size_t count) {
  if (values.size() != count) return false;
  std::vector<bool> seen(count, false);
  for (int64_t value : values) {
    if (value < 0 || value >= static_cast<int64_t>(count) || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

void CanonicalizeIota(std::vector<int64_t>* reshape, std::vector<int64_t>* perm) {
  // Keeps the dimensions of size other than 1, and merges those that are adjacent in source and result.
  std::vector<int64_t> order;
  for (int64_t p : *perm) {
    if ((*reshape)[p] != 1) order.push_back(p);
  }
  std::vector<int64_t> sizes;
  std::vector<int64_t> firsts;
  auto next_kept = [&](int64_t p) {
    for (++p; p < static_cast<int64_t>(reshape->size()) && (*reshape)[p] == 1;) ++p;
    return p;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i] == next_kept(order[i - 1])) {
      sizes.back() *= (*reshape)[order[i]];
    } else {
      firsts.push_back(order[i]);
      sizes.push_back((*reshape)[order[i]]);
    }
  }
  if (sizes.empty()) {
    *reshape = {1};
    *perm = {0};
    return;
  }
  std::vector<int64_t> sorted = firsts;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> result_perm(firsts.size()), result_sizes(firsts.size());
  for (size_t i = 0; i < firsts.size(); ++i) {
    const auto rank = std::lower_bound(sorted.begin(), sorted.end(), firsts[i]) - sorted.begin();
    result_perm[i] = rank;
    result_sizes[rank] = sizes[i];
  }
  *reshape = std::move(result_sizes);
  *perm = std::move(result_perm);
}

std::vector<int64_t> ExpandIota(const IotaTile& tile) {
  const std::vector<int64_t> dims(tile.reshape_dims.begin(), tile.reshape_dims.end());
  std::vector<int64_t> values(static_cast<size_t>(ProductOf(dims).value_or(0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  return Transposed(values, dims, {tile.transpose_perm.begin(), tile.transpose_perm.end()});
}

std::vector<int64_t> Transposed(const std::vector<int64_t>& values, const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& order) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  std::vector<int64_t> index(dims.size(), 0), result;
  result.reserve(values.size());
  for (size_t n = 0; n < values.size(); ++n) {
    int64_t offset = 0;
    for (size_t k = 0; k < order.size(); ++k) offset += index[k] * strides[order[k]];
    result.push_back(values[offset]);
    for (size_t k = order.size(); k-- > 0;) {
      if (++index[k] < dims[order[k]]) break;
      index[k] = 0;
    }
  }
  return result;
}

}  // namespace hlo::text
