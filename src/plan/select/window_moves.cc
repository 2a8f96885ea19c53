#include "plan/select/window_moves.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/gather_scatter/few_windows.h"
#include "plan/analysis/window_update.h"
#include "plan/select/library_kernels.h"

namespace hlo::plan {
namespace {

constexpr int64_t kMaxStarts = 16, kMaxMoves = 16;

// Replaces the starts by the offsets of constant indices. Returns false if the window is out of range.
bool ApplyIndices(const Literal& indices, bool clamps, WindowMoves::Window* window) {
  for (const auto& [index, max, stride] : window->starts) {
    const int64_t width = ByteCount(indices.type());
    const int64_t value = loops::ReadInteger(indices.type(), indices.data() + index * width);
    const int64_t clamped = std::clamp<int64_t>(value, 0, max);
    if (clamped != value && !clamps) return false;
    for (WindowMoves::Move& move : window->moves) move.operand += clamped * stride;
  }
  window->starts.clear();
  return true;
}

}  // namespace

std::optional<WindowMoves> FindWindowMoves(const Instruction& instruction, const Literal* indices) {
  const bool is_scatter = instruction.opcode() == Opcode::kScatter;
  const std::optional<cpu::FewWindows> few = is_scatter ? FindScatterWindows(instruction)
                                             : instruction.opcode() == Opcode::kGather
                                                 ? FindGatherWindows(instruction)
                                                 : std::nullopt;
  if (!few.has_value()) return std::nullopt;
  const auto count = std::ssize(few->windows()), rows = std::ssize(few->rows());
  if (count * std::ssize(few->components()) > kMaxStarts || count * rows > kMaxMoves) return std::nullopt;
  WindowMoves result{.index_type = few->index_type(),
                     .width = ByteCount(instruction.operand(0)->shape().type()),
                     .length = few->length()};
  if (is_scatter && !FindUpdateOperation(instruction, &result.combine)) return std::nullopt;
  for (int64_t w = 0; w < count; ++w) {
    const auto& [batch, first] = few->windows()[w];
    WindowMoves::Window window;
    for (const auto& [index, last, stride] : few->components())
      window.starts.push_back({first + index, last, stride});
    for (int64_t r = 0; r < rows; ++r)
      window.moves.push_back({batch + few->rows()[r], few->other()[w * rows + r]});
    if (indices == nullptr || ApplyIndices(*indices, !is_scatter, &window))
      result.windows.push_back(std::move(window));
  }
  return result;
}

}  // namespace hlo::plan
