#pragma once
// TMA and mbarriers of hopper.h for the emulator. A box is copied when a thread waits for its barrier, so
// missing waits and early overwrites give wrong results. Wrong byte counts and arrivals end the kernel.

#include <cstring>
#include <map>

#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/intrinsics/hopper.h"

namespace hlo::cuda {

inline uint32_t SharedAddress(HostEnv& env, const void* p) {
  return static_cast<uint32_t>(static_cast<const std::byte*>(p) - env.shared());
}

struct HostBarrier {
  uint8_t count, pending;
  uint16_t phase;
  int32_t missing_bytes;

  void CompleteIfDone() {
    if (pending != 0 || missing_bytes != 0) return;
    phase ^= 1;
    pending = count;
  }
};
static_assert(sizeof(HostBarrier) == 8);
inline HostBarrier* BarrierAt(uint64_t* barrier) { return reinterpret_cast<HostBarrier*>(barrier); }

struct PendingBox {
  std::byte* to;
  uint32_t address;
  BoxSource source;
  int64_t at[BoxSource::kMaxRank];
  uint32_t offsets[2] = {};  // The offsets of columns and rows in im2col mode.
};
// Boxes in flight to a barrier.
inline std::multimap<uint64_t*, PendingBox>& PendingBoxes() {
  static thread_local std::multimap<uint64_t*, PendingBox> boxes;
  return boxes;
}

inline void InitBarrier(HostEnv& env, uint64_t* barrier, uint32_t count) {
  [[maybe_unused]] const auto unchecked = env.unchecked();
  *BarrierAt(barrier) = {static_cast<uint8_t>(count), static_cast<uint8_t>(count), 0, 0};
  PendingBoxes().erase(barrier);
}
inline void PublishBarriers(HostEnv&) {}
inline void Arrive(HostEnv& env, uint64_t* barrier) {
  [[maybe_unused]] const auto unchecked = env.unchecked();
  if (BarrierAt(barrier)->pending == 0) env.fail("arrives at an mbarrier whose phase has all arrivals");
  --BarrierAt(barrier)->pending;
  BarrierAt(barrier)->CompleteIfDone();
}
inline void ArriveExpecting(HostEnv& env, uint64_t* barrier, uint32_t bytes) {
  [[maybe_unused]] const auto unchecked = env.unchecked();
  BarrierAt(barrier)->missing_bytes += static_cast<int32_t>(bytes);
  Arrive(env, barrier);
}

inline uint32_t BoxBytes(const BoxSource& source) {
  uint32_t bytes = source.element_bytes;
  for (uint32_t d = 0; d < (source.im2col ? 2 : source.rank); ++d) bytes *= source.box[d];
  return bytes;
}

// Returns why the driver would refuse to encode the map; nullptr if it would not.
inline const char* EncodingError(const BoxSource& s) {
  if (s.rank < 3 || s.rank > BoxSource::kMaxRank || (s.im2col && s.rank != 4))
    return "a tensor map has an unsupported rank";
  if (reinterpret_cast<uintptr_t>(s.data) % 16 != 0) return "a tensor map's array is not aligned";
  for (uint32_t d = 0; d < s.rank; ++d) {
    if (s.dims[d] < 1 || s.dims[d] > uint64_t{1} << 32) return "a tensor map's dimension is out of range";
    if (d > 0 && (s.byte_strides[d] % 16 != 0 || s.byte_strides[d] >= uint64_t{1} << 40))
      return "a tensor map's stride is not a multiple of 16 bytes or too large";
    const uint32_t limit = s.im2col && d == 1 ? 1024 : 256;
    if ((!s.im2col || d < 2) && (s.box[d] < 1 || s.box[d] > limit))
      return "a tensor map's box is out of range";
  }
  if (s.box[0] * s.element_bytes % 16 != 0 || (s.swizzled && s.box[0] * s.element_bytes > 128))
    return "the rows of a tensor map's box are not aligned or longer than the swizzle pattern";
  for (uint32_t x = 0; x < 2 && s.im2col; ++x) {
    const auto is_corner = [](int32_t c) {
      return c >= Im2colLimits::kMinCorner && c <= Im2colLimits::kMaxCorner;
    };
    if (!is_corner(s.lower_corner[x]) || !is_corner(s.upper_corner[x]))
      return "a tensor map's corner is out of range";
    if (s.traversal_stride[x] < 1 || s.traversal_stride[x] > Im2colLimits::kMaxStride)
      return "a tensor map's traversal stride is out of range";
  }
  return nullptr;
}

// True if pixels of this column (0) or row (1) exist in the bounding box.
inline bool IsInBoundingBox(const BoxSource& s, uint32_t x, int64_t coordinate) {
  const int64_t last = static_cast<int64_t>(s.dims[1 + x]) - 1 + s.upper_corner[x];
  return coordinate >= s.lower_corner[x] && coordinate <= last &&
         (coordinate - s.lower_corner[x]) % s.traversal_stride[x] == 0;
}

inline void StartCopy(HostEnv& env, const PendingBox& box, uint64_t* barrier) {
  [[maybe_unused]] const auto unchecked = env.unchecked();
  if (const char* error = EncodingError(box.source)) env.fail(error);
  if (box.address % 128 != 0) env.fail("a box goes to an address that is not aligned to 128 bytes");
  // Earlier reads must have happened before. Threads wait for the barrier to read what is written.
  emulator::NoteAccess(box.to, BoxBytes(box.source), emulator::Access::kWrite);
  emulator::ForgetAccesses(box.to, BoxBytes(box.source));
  std::memset(box.to, 0xff, BoxBytes(box.source));
  PendingBoxes().emplace(barrier, box);
}
inline void CopyBox(HostEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z,
                    uint64_t* barrier) {
  if (map.source.rank != 3 || map.source.im2col) env.fail("a copy does not fit its tensor map");
  StartCopy(env, {to, SharedAddress(env, to), map.source, {x, y, z, 0}}, barrier);
}
inline void CopyBox(HostEnv& env, std::byte* to, const TensorMap& map, int x, int y, int z, int w,
                    uint64_t* barrier) {
  if (map.source.rank != 4 || map.source.im2col) env.fail("a copy does not fit its tensor map");
  StartCopy(env, {to, SharedAddress(env, to), map.source, {x, y, z, w}}, barrier);
}
inline void CopyPixels(HostEnv& env, std::byte* to, const TensorMap& map, int channel,
                       const PixelIndex& first, uint32_t column_offset, uint32_t row_offset,
                       uint64_t* barrier) {
  if (!map.source.im2col) env.fail("a copy does not fit its tensor map");
  if (column_offset > Im2colLimits::kMaxOffset || row_offset > Im2colLimits::kMaxOffset)
    env.fail("an im2col offset is out of range");
  if (!IsInBoundingBox(map.source, 0, first.column) || !IsInBoundingBox(map.source, 1, first.row) ||
      first.image < 0)
    env.fail("an im2col copy starts outside the bounding box");
  StartCopy(env,
            {to,
             SharedAddress(env, to),
             map.source,
             {channel, first.column, first.row, first.image},
             {column_offset, row_offset}},
            barrier);
}

// Copies one element, or a zero if it is out of bounds, to element `i` of the box.
inline void DeliverElement(const PendingBox& box, uint32_t i, const int64_t (&at)[BoxSource::kMaxRank]) {
  const BoxSource& s = box.source;
  uint32_t value = 0;
  bool inside = true;
  int64_t offset = 0;
  for (uint32_t d = 0; d < s.rank; ++d) {
    inside &= at[d] >= 0 && at[d] < static_cast<int64_t>(s.dims[d]);
    offset += at[d] * static_cast<int64_t>(s.byte_strides[d]);
  }
  if (inside) std::memcpy(&value, static_cast<const std::byte*>(s.data) + offset, s.element_bytes);
  const uint32_t linear = box.address + s.element_bytes * i, to = s.swizzled ? Swizzled128(linear) : linear;
  std::memcpy(box.to + (to - box.address), &value, s.element_bytes);
}

inline void DeliverPixels(const PendingBox& box) {
  const BoxSource& s = box.source;
  int64_t pixel[3] = {box.at[1], box.at[2], box.at[3]};
  for (uint32_t i = 0; i < s.box[1]; ++i) {
    for (uint32_t c = 0; c < s.box[0]; ++c) {
      DeliverElement(box, i * s.box[0] + c,
                     {box.at[0] + c, pixel[0] + box.offsets[0], pixel[1] + box.offsets[1], pixel[2]});
    }
    for (uint32_t x = 0; x < 2; ++x) {
      pixel[x] += s.traversal_stride[x];
      if (IsInBoundingBox(s, x, pixel[x])) break;
      pixel[x] = s.lower_corner[x];
      if (x == 1) ++pixel[2];
    }
  }
}

inline void Deliver(const PendingBox& box) {
  const BoxSource& s = box.source;
  if (s.im2col) return DeliverPixels(box);
  for (uint32_t i = 0; i < BoxBytes(s) / s.element_bytes; ++i) {
    int64_t at[BoxSource::kMaxRank] = {};
    for (uint32_t d = 0, rest = i; d < s.rank; ++d) {
      at[d] = box.at[d] + rest % s.box[d];
      rest /= s.box[d];
    }
    DeliverElement(box, i, at);
  }
}

inline void WaitFor(HostEnv& env, uint64_t* barrier, uint32_t parity) {
  [[maybe_unused]] const auto unchecked = env.unchecked();
  for (auto [box, end] = PendingBoxes().equal_range(barrier); box != end; box = PendingBoxes().erase(box)) {
    Deliver(box->second);
    BarrierAt(barrier)->missing_bytes -= static_cast<int32_t>(BoxBytes(box->second.source));
  }
  BarrierAt(barrier)->CompleteIfDone();
  while ((env.load_volatile(&BarrierAt(barrier)->phase) & 1) == parity) {
    auto [box, end] = PendingBoxes().equal_range(barrier);
    if (box != end) return WaitFor(env, barrier, parity);
  }
}

}  // namespace hlo::cuda
