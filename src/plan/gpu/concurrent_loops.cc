#include "plan/gpu/concurrent_loops.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kernels/cuda/steps/steps_builder.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// The mean number of elements from which on a loop fills the device, which copies long arrays faster alone.
constexpr int64_t kMaxElements = 1 << 18;
constexpr size_t kMinLoops = 3;

bool MayOverlap(const Plan& plan, Slot a, Slot b) {
  const Buffer &one = plan.buffers[a], &other = plan.buffers[b];
  const bool in_arena = one.kind == Buffer::Kind::kArena && other.kind == Buffer::Kind::kArena;
  return a == b || one.donor == b || other.donor == a ||
         (in_arena && one.offset < other.offset + other.byte_count &&
          other.offset < one.offset + one.byte_count);
}

// True if no loop reads memory that one of them writes.
bool AreIndependent(const Plan& plan, const Step& step) {
  absl::flat_hash_set<Slot> read, written;
  VisitSlots(step, [&](Slot slot, bool is_write) { (is_write ? written : read).insert(slot); });
  return std::none_of(written.begin(), written.end(), [&](Slot to) {
    return std::any_of(read.begin(), read.end(), [&](Slot from) { return MayOverlap(plan, from, to); });
  });
}

}  // namespace

std::vector<cuda::LoweredProgram> LowerConcurrentLoops(const Plan& plan, const Step& step,
                                                       const device::DeviceProperties& device) {
  const auto* tiles = std::get_if<TileStep>(&step.what);
  // The pieces of a concatenation write different elements.
  if (tiles == nullptr || step.instruction->opcode() != Opcode::kConcatenate || tiles->updated >= 0 ||
      tiles->programs.size() < kMinLoops || !AreIndependent(plan, step))
    return {};
  int64_t elements = 0;
  std::vector<const loops::LoopProgram*> programs;  // A launch of empty loops alone would have no blocks.
  for (const loops::LoopProgram& program : tiles->programs) {
    const int64_t count = program.outer_count() * program.inner_count();
    elements += count;
    if (count > 0) programs.push_back(&program);
  }
  if (elements == 0 || elements > kMaxElements * static_cast<int64_t>(programs.size())) return {};
  std::vector<cuda::LoweredProgram> launches;
  cuda::StepsBuilder builder(device);
  for (size_t p = 0, first = 0; p < programs.size();) {
    cuda::StepsBuilder longer = builder;
    if (longer.AddLargeLoop(*programs[p])) {
      builder = std::move(longer);
      ++p;
      continue;
    }
    if (p == first) return {};
    launches.push_back(std::move(builder).FinishConcurrent());
    builder = cuda::StepsBuilder(device);
    first = p;
  }
  launches.push_back(std::move(builder).FinishConcurrent());
  return launches;
}

}  // namespace hlo::plan
