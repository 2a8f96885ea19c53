#include "kernels/cpu/loops/small_program.h"

#include <algorithm>

#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

void SmallProgram::Run(void* const* arguments) const {
  alignas(64) std::byte scratch[kScratchBytes];
  int64_t moved[kMaxStarts + 1];
  moved[0] = 0;
  int32_t last = 0;
  for (const Start& start : starts) {
    const int64_t position =
        ReadInteger(start.type, static_cast<const std::byte*>(arguments[start.argument]) + start.byte_offset);
    if (start.number != last) moved[last = start.number] = 0;
    moved[last] += std::min(std::max<int64_t>(position, 0), start.max) * start.byte_stride;
  }
  const auto at = [&](const Place& place) {
    std::byte* base = place.argument < 0 ? scratch : static_cast<std::byte*>(arguments[place.argument]);
    return base + place.offset + moved[place.start];
  };
  for (const Call& call : calls) {
    const void* in[3] = {at(call.in[0]), at(call.in[1]), at(call.in[2])};
    call.call.function(count, at(call.out), in, call.call.parameter);
  }
}

}  // namespace hlo::cpu
