#include "plan/gpu/row_fusion.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kernels/cuda/reduce/lower_rows.h"
#include "plan/analysis/elementwise_loop.h"
#include "plan/gpu/slot_uses.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

// Shorter rows leave most threads of a warp idle; longer ones need several thread blocks each.
constexpr int64_t kMinLength = 64, kMaxLength = 16 << 10;
constexpr size_t kMaxMembers = 20, kMaxDistance = 32;
// The maximal number of bytes of results that are moved out of the arena, where they would overlap operands.
constexpr int64_t kMaxMovedBytes = 256 << 20;

const loops::ReduceProgram* ReductionOf(const Step& step) {
  const auto* reduce = std::get_if<ReduceStep>(&step.what);
  return reduce != nullptr && reduce->program.rows ? &reduce->program : nullptr;
}

// Returns false if the 32-bit VM certainly cannot run the program. This is cheaper than lowering it.
bool MayRunOnVm32(const loops::LoopProgram& program) {
  bool may = true;
  program.VisitAccesses([&](const loops::Access& access, bool is_store) {
    may &= access.IsRegular() && access.next < 0 && ByteCount(access.type) <= 4 &&
           (!is_store || access.starts.empty());
  });
  return may;
}

class RowFusion {
 public:
  RowFusion(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu)
      : plan_(plan), device_(device), gpu_(gpu), uses_(CountUses(plan)) {
    for (const auto& [step, lowered] : gpu->steps) {
      if (lowered.with_epilogue.has_value()) in_epilogues_.insert(lowered.with_epilogue->loop);
    }
  }

  void Run(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size();) i = FuseAt(steps, i);
  }

 private:
  // Fuses steps from `first` on. Returns the step after them.
  size_t FuseAt(const std::vector<Step>& steps, size_t first) {
    std::vector<size_t> members = FindMembers(steps, first);
    for (; members.size() > 1; members.pop_back()) {
      if (!Fuse(steps, members)) continue;
      return members.back() + 1;
    }
    return first + 1;
  }

  bool IsCandidate(const Step& step, int64_t rows, int64_t length) const {
    const GpuStep& lowered = gpu_->steps.at(&step);
    if (!lowered.reason.empty() || in_epilogues_.contains(&step)) return false;
    if (const loops::ReduceProgram* reduce = ReductionOf(step); reduce != nullptr)
      return reduce->kept_count() == rows && reduce->reduced_count() == length && MayRunOnVm32(reduce->body);
    const loops::LoopProgram* loop = SingleLoop(step);
    if (loop == nullptr || !MayRunOnVm32(*loop)) return false;
    const int64_t count = loop->outer_count() * loop->inner_count();
    return count == rows || count == rows * length;
  }

  // True for a step that can run before the members that surround it.
  static bool CanPass(const Step& step) {
    return !std::holds_alternative<LoopStep>(step.what) && !std::holds_alternative<BranchStep>(step.what);
  }

  std::vector<size_t> FindMembers(const std::vector<Step>& steps, size_t first) const {
    const size_t end = std::min(steps.size(), first + kMaxDistance);
    const loops::ReduceProgram* reduce = nullptr;
    for (size_t i = first; i < end && reduce == nullptr && CanPass(steps[i]); ++i)
      reduce = ReductionOf(steps[i]);
    if (reduce == nullptr || reduce->reduced_count() < kMinLength || reduce->reduced_count() > kMaxLength)
      return {};
    const int64_t rows = reduce->kept_count(), length = reduce->reduced_count();
    std::vector<size_t> members;
    absl::flat_hash_set<Slot> read, written;
    for (size_t i = first; i < end && members.size() < kMaxMembers; ++i) {
      bool shares = members.empty();
      VisitSlots(steps[i], [&](Slot slot, bool is_write) {
        const bool is_known = read.contains(slot) || written.contains(slot);
        shares |= !is_write && is_known && plan_.buffers[slot].byte_count >= rows;
      });
      if (shares && IsCandidate(steps[i], rows, length)) {
        members.push_back(i);
        VisitSlots(steps[i], [&](Slot slot, bool is_write) { (is_write ? written : read).insert(slot); });
        continue;
      }
      // Other steps run before all members.
      bool passes = i > first && CanPass(steps[i]);
      VisitSlots(steps[i], [&](Slot slot, bool is_write) {
        passes &= !written.contains(slot) && !(is_write && read.contains(slot));
      });
      if (!passes) break;
    }
    return members;
  }

  bool Fuse(const std::vector<Step>& steps, const std::vector<size_t>& members) {
    std::vector<cuda::RowsPartProgram> parts;
    std::vector<int> inner_uses(plan_.buffers.size());
    bool reduces = false;
    for (const size_t i : members) {
      const loops::ReduceProgram* reduce = ReductionOf(steps[i]);
      parts.push_back({reduce != nullptr ? &reduce->body : SingleLoop(steps[i]), reduce});
      reduces |= reduce != nullptr;
      VisitSlots(steps[i], [&](Slot slot, bool) { ++inner_uses[slot]; });
    }
    if (!reduces) return false;
    const auto is_live_out = [&](int32_t slot) {
      return plan_.buffers[slot].kind != Buffer::Kind::kArena || inner_uses[slot] != uses_[slot];
    };
    std::optional<cuda::LoweredRows> lowered = cuda::LowerRows(parts, is_live_out, device_);
    if (!lowered.has_value()) return false;
    auto rows = std::make_shared<FusedRows>();
    rows->overlaps = Overlaps(steps, members, lowered->arguments);
    if (!MoveResults(rows->overlaps)) return false;
    rows->program = std::move(lowered->program);
    for (const size_t i : members) {
      rows->members.push_back(&steps[i]);
      GpuStep& member = gpu_->steps.at(&steps[i]);
      member.fused_rows = rows;
      member.name = i == members.back() ? rows->program.name : "fused into later rows";
    }
    return true;
  }

  // Returns the pairs of slots whose memory must not overlap, because members run later than in the plan and
  // rows in any order.
  std::vector<FusedRows::Overlap> Overlaps(const std::vector<Step>& steps, const std::vector<size_t>& members,
                                           const std::vector<cuda::RowsArgument>& arguments) const {
    std::vector<FusedRows::Overlap> overlaps;
    for (size_t a = 0; a < arguments.size(); ++a) {
      for (size_t b = 0; b < arguments.size(); ++b) {
        const cuda::RowsArgument &one = arguments[a], &other = arguments[b];
        if (!other.is_written || one.argument == other.argument || (one.is_written && a > b)) continue;
        overlaps.push_back({one.argument, other.argument,
                            !one.is_written && one.pattern >= 0 && one.pattern == other.pattern});
      }
    }
    for (size_t i = members.front(); i < members.back(); ++i) {
      if (std::find(members.begin(), members.end(), i) != members.end()) continue;
      VisitSlots(steps[i], [&](Slot slot, bool is_write) {
        for (const cuda::RowsArgument& each : arguments) {
          if (slot == each.argument || !(is_write || each.is_written)) continue;
          if (is_write)
            overlaps.push_back({each.argument, slot, false});
          else
            overlaps.push_back({slot, each.argument, false});
        }
      });
    }
    return overlaps;
  }

  // Moves results out of the arena that would overlap there. Returns false if that cannot be avoided.
  bool MoveResults(const std::vector<FusedRows::Overlap>& overlaps) {
    std::vector<Slot> moved;
    int64_t bytes = 0;
    for (const auto& [read, written, may_coincide] : overlaps) {
      const Buffer &a = plan_.buffers[read], &b = plan_.buffers[written];
      if ((a.donor == written || b.donor == read) && !may_coincide) return false;
      const auto is_moved = [&](Slot slot) {
        return gpu_->moved.contains(slot) || std::find(moved.begin(), moved.end(), slot) != moved.end();
      };
      if (a.kind != Buffer::Kind::kArena || b.kind != Buffer::Kind::kArena || is_moved(read) ||
          is_moved(written) || a.offset >= b.offset + b.byte_count || b.offset >= a.offset + a.byte_count ||
          (may_coincide && a.offset == b.offset))
        continue;
      moved.push_back(written);
      bytes += b.byte_count;
    }
    if (moved_bytes_ + bytes > std::max(kMaxMovedBytes, plan_.arena_bytes)) return false;
    moved_bytes_ += bytes;
    gpu_->moved.insert(moved.begin(), moved.end());
    return true;
  }

  const Plan& plan_;
  const device::DeviceProperties& device_;
  GpuPlan* gpu_;
  const std::vector<int> uses_;
  absl::flat_hash_set<const Step*> in_epilogues_;
  int64_t moved_bytes_ = 0;
};

}  // namespace

void FuseRows(const Plan& plan, const device::DeviceProperties& device, GpuPlan* gpu) {
  RowFusion fusion(plan, device, gpu);
  VisitStepLists(plan.steps, [&](const std::vector<Step>& steps) { fusion.Run(steps); });
}

}  // namespace hlo::plan
