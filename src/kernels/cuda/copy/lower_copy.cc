#include "kernels/cuda/copy/lower_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/copy/copy_body.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/memory/walks.h"
#include "kernels/cuda/memory/words.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kShortSide = 8;  // Shorter sides do not benefit from tiles.

struct CopyPlan {
  CopyArgs args;
  LaunchShape shape;
  int64_t word_bytes = 0;
  bool in_tiles = false;
  int32_t from_argument = 0, to_argument = 0;
  std::vector<int32_t> start_arguments;
};

// Returns the dimensions in the memory order of the target.
std::optional<std::vector<PlainDim>> DimsOf(const loops::LoopProgram& program, const loops::Access& from,
                                            const loops::Access& to) {
  std::vector<PlainDim> dims;
  const auto append = [&](absl::Span<const int64_t> sizes, const loops::Strides& source,
                          const loops::Strides& target) {
    if (source.size() != sizes.size() || target.size() != sizes.size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d) dims.push_back({sizes[d], 0, source[d], target[d]});
    return true;
  };
  if (!append(program.outer_dims(), from.outer, to.outer) ||
      !append(program.inner_dims(), from.inner, to.inner))
    return std::nullopt;
  std::stable_sort(dims.begin(), dims.end(), [](const PlainDim& a, const PlainDim& b) {
    return std::abs(a.update) > std::abs(b.update);
  });
  return Joined(dims);
}

bool SetStarts(const loops::Access& access, bool moves_target, CopyPlan& plan) {
  CopyArgs& args = plan.args;
  for (const loops::RuntimeStart& start : access.starts) {
    if (args.start_count == kMaxCopyStarts || !IsIntegral(start.type) || start.element != 0) return false;
    args.starts[args.start_count++] = {nullptr,
                                       static_cast<uint32_t>(ByteCount(start.type)),
                                       IsSigned(start.type),
                                       moves_target,
                                       start.max,
                                       start.stride};
    plan.start_arguments.push_back(start.argument);
  }
  return true;
}

// Returns the number of adjacent elements that every access can copy as one aligned word.
int64_t ElementsPerWord(const std::vector<PlainDim>& dims, const CopyArgs& args, int64_t byte_count) {
  if (dims.empty() || dims.back().operand != 1 || dims.back().update != 1) return 1;
  int64_t common = std::gcd(int64_t{16} / byte_count, dims.back().size);
  common = std::gcd(std::gcd(common, args.from_offset), args.to_offset);
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    common = std::gcd(std::gcd(common, dims[d].operand), dims[d].update);
  for (uint32_t k = 0; k < args.start_count; ++k) common = std::gcd(common, args.starts[k].stride);
  return common;
}

bool SetWords(std::vector<PlainDim> dims, int64_t byte_count, CopyPlan& plan) {
  CopyArgs& args = plan.args;
  const int64_t joined = ElementsPerWord(dims, args, byte_count);
  if (joined > 1) {
    dims.back().size /= joined;
    for (size_t d = 0; d + 1 < dims.size(); ++d) dims[d].operand /= joined, dims[d].update /= joined;
    for (uint32_t k = 0; k < args.start_count; ++k) args.starts[k].stride /= joined;
    args.from_offset /= joined;
    args.to_offset /= joined;
  }
  const std::optional<Walk> walk = MakeWalk(dims);
  if (!walk.has_value()) return false;
  int64_t count = 1;
  for (const PlainDim& dim : dims) count *= dim.size;
  constexpr uint32_t kEach = kCopyThreads * kCopyWords;
  args.walk = *walk;
  args.count = static_cast<uint32_t>(count);
  plan.word_bytes = joined * byte_count;
  plan.shape = {{CeilDiv(args.count, kEach)}, kCopyThreads};
  return true;
}

// Tiles the last dimension of the target and the contiguous dimension of the source.
bool SetTiles(std::vector<PlainDim> dims, int64_t byte_count, CopyPlan& plan) {
  if (dims.size() < 2 || dims.back().update != 1 || dims.back().operand == 1 || dims.back().size < kShortSide)
    return false;
  const auto along = std::find_if(dims.begin(), dims.end(), [](const PlainDim& d) { return d.operand == 1; });
  if (along == dims.end() || along->size < kShortSide) return false;
  const PlainDim across = dims.back(), inner = *along;
  dims.pop_back();
  dims.erase(along);
  const std::optional<Walk> walk = MakeWalk(dims);
  if (!walk.has_value()) return false;
  CopyArgs& args = plan.args;
  const int64_t side = byte_count <= 2 ? kCopyTile<uint8_t> : kCopyTile<uint32_t>;
  const auto tiles = [&](int64_t size) { return CeilDiv(size, side); };
  int64_t blocks = tiles(across.size) * tiles(inner.size);
  for (const PlainDim& dim : dims) blocks *= dim.size;
  if (blocks > INT32_MAX || across.size > INT32_MAX || inner.size > INT32_MAX) return false;
  args.walk = *walk;
  args.across = {static_cast<uint32_t>(across.size), FastDiv(static_cast<uint32_t>(tiles(across.size))),
                 across.operand};
  args.along = {static_cast<uint32_t>(inner.size), FastDiv(static_cast<uint32_t>(tiles(inner.size))),
                inner.update};
  plan.word_bytes = byte_count;
  plan.in_tiles = true;
  plan.shape = {
      {static_cast<uint32_t>(blocks)}, kCopyThreads, static_cast<size_t>(side * (side + 1) * byte_count)};
  return true;
}

std::optional<CopyPlan> PlanCopy(const loops::LoopProgram& program) {
  if (program.steps().size() != 1 || program.stores().size() != 1 || !program.yields().empty())
    return std::nullopt;
  const loops::LoopProgram::Step& step = program.steps()[0];
  const loops::LoopProgram::Stored& store = program.stores()[0];
  if (!step.IsLoad()) return std::nullopt;
  const loops::Access &from = program.access(step.access), &to = program.access(store.access);
  if (!from.IsArray() || !from.IsRegular() || to.drops || from.type != to.type) return std::nullopt;
  CopyPlan plan;
  plan.from_argument = from.argument;
  plan.to_argument = to.argument;
  plan.args.from_offset = from.offset;
  plan.args.to_offset = to.offset;
  const std::optional<std::vector<PlainDim>> dims = DimsOf(program, from, to);
  if (!dims.has_value() || !SetStarts(from, /*moves_target=*/false, plan) ||
      !SetStarts(to, /*moves_target=*/true, plan))
    return std::nullopt;
  const int64_t byte_count = ByteCount(from.type);
  if (!SetTiles(*dims, byte_count, plan) && !SetWords(*dims, byte_count, plan)) return std::nullopt;
  return plan;
}

}  // namespace

std::optional<LoweredProgram> LowerCopy(const loops::LoopProgram& program) {
  const std::optional<CopyPlan> plan = PlanCopy(program);
  if (!plan.has_value()) return std::nullopt;
  return LoweredProgram{
      fmt::format("copy of {} bytes{}", plan->word_bytes, plan->in_tiles ? " in tiles" : ""),
      [plan = *plan](void* const* pointers, void*, device::Stream stream) -> absl::Status {
        if (plan.shape.grid.x == 0) return absl::OkStatus();
        CopyArgs args = plan.args;
        args.from = pointers[plan.from_argument];
        args.to = pointers[plan.to_argument];
        for (size_t k = 0; k < plan.start_arguments.size(); ++k)
          args.starts[k].index = pointers[plan.start_arguments[k]];
        return WithWord(plan.word_bytes, [&]<class Word>() {
          return plan.in_tiles ? Launch<CopyTilesKernel<Word>>(plan.shape, args, stream)
                               : Launch<CopyKernel<Word>>(plan.shape, args, stream);
        });
      }};
}

}  // namespace hlo::cuda
