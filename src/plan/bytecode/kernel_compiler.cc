#include "plan/bytecode/kernel_compiler.h"

#include <optional>

#include "kernels/cpu/elementwise/small_tiles.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "plan/analysis/window_update.h"
#include "plan/select/library_kernels.h"

namespace hlo::plan {

using cpu::FrameOffset;

namespace {
constexpr int64_t kMaxWindowBytes = 256;
// The limit for the operand of a scatter that is not in place, and for arrays of a gather outside the frame.
constexpr int64_t kMaxCopiedOperand = 1024;
// The limit for each array of a dot. Larger ones must be in the frame, and the dot in a loop.
constexpr int64_t kMaxDotBytes = 128;
constexpr int64_t kMaxBytesInFrame = 4096;
}  // namespace

bool KernelCompiler::Compile(const Step& step, bool in_loop) {
  const auto* kernel = std::get_if<KernelStep>(&step.what);
  if (kernel == nullptr) return false;
  if (kernel->kernel.name == "small dot") return Dot(step, *kernel, in_loop);
  if (step.instruction->opcode() == Opcode::kScatter && Scatter(step, *kernel)) return true;
  return in_loop && (Windows(step, *kernel) || Gather(step, *kernel));
}

void KernelCompiler::Bind(cpu::Bytecode::Label label) {
  cse_.InvalidateAll();
  code_.Bind(label);
}

bool KernelCompiler::Scatter(const Step& step, const KernelStep& kernel) {
  const std::optional<WindowUpdate> update = FindWindowUpdate(*step.instruction);
  if (!update.has_value()) return false;
  const Slot operand = kernel.operands[0], result = kernel.results[0];
  const int64_t width = ByteCount(update->type), byte_count = update->count * width;
  if (byte_count > kMaxWindowBytes) return false;
  if (!CopyOperand(operand, result)) return false;
  const cpu::Bytecode::Label outside = code_.NewLabel();
  const auto indices = static_cast<int64_t>(update->starts.size());
  const int64_t index_width = ByteCount(update->index_type);
  const FrameOffset index = access_.Read(kernel.operands[1], 0, indices * index_width);
  const FrameOffset address = access_.allocator().AllocateTemporary(sizeof(int64_t)),
                    value = access_.allocator().AllocateTemporary(byte_count);
  for (int64_t k = 0; k < indices; ++k) {
    const auto& [max, stride] = update->starts[k];
    code_.CheckedAddress(address, k > 0, static_cast<FrameOffset>(index + k * index_width),
                         update->index_type, max, stride * width, outside);
  }
  const FrameOffset from = access_.Read(kernel.operands[2], 0, byte_count);
  if (!update->combine.has_value()) {
    code_.Store(from, result, 0, address, byte_count);
  } else {
    code_.Load(value, result, 0, address, byte_count);
    Combine(*update->combine, update->count, width, value, from);
    code_.Store(value, result, 0, address, byte_count);
  }
  Bind(outside);
  return true;
}

bool KernelCompiler::CopyOperand(Slot operand, Slot result) {
  if (operand == result) return true;
  if (access_.Bytes(result) > kMaxCopiedOperand) return false;
  access_.CopyTo(result, access_.Read(operand, 0, access_.Bytes(result)));
  return true;
}

void KernelCompiler::Combine(const loops::Operation& operation, int64_t count, int64_t width,
                             FrameOffset elements, FrameOffset others) {
  const auto each = static_cast<int32_t>(width);
  code_.Call(cpu::FindTileCall(operation), count, {each, {each, each, 0}}, elements,
             {elements, others, others});
}

bool KernelCompiler::Windows(const Step& step, const KernelStep& kernel) {
  const Opcode opcode = step.instruction->opcode();
  const bool is_scatter = opcode == Opcode::kScatter;
  if (!is_scatter && opcode != Opcode::kGather) return false;
  const Slot operand = kernel.operands[0], indices = kernel.operands[1], result = kernel.results[0],
             other = is_scatter ? kernel.operands[2] : result;
  const std::optional<WindowMoves> moves =
      FindWindowMoves(*step.instruction, plan_.buffers[indices].constant);
  if (!moves.has_value() || moves->length * moves->width > kMaxWindowBytes ||
      access_.Bytes(other) > kMaxCopiedOperand || (is_scatter && !CopyOperand(operand, result)))
    return false;
  const bool is_constant = plan_.buffers[indices].constant != nullptr;
  const FrameOffset index = is_constant ? 0 : access_.Read(indices, 0, access_.Bytes(indices));
  const FrameOffset address = access_.allocator().AllocateTemporary(sizeof(int64_t)),
                    value = access_.allocator().AllocateTemporary(moves->length * moves->width),
                    updates = is_scatter ? access_.Read(other, 0, access_.Bytes(other)) : 0;
  for (const WindowMoves::Window& window : moves->windows) {
    const cpu::Bytecode::Label outside = code_.NewLabel();
    for (size_t k = 0; k < window.starts.size(); ++k) {
      const auto& [number, max, stride] = window.starts[k];
      const auto at = static_cast<FrameOffset>(index + number * ByteCount(moves->index_type));
      if (is_scatter)
        code_.CheckedAddress(address, k > 0, at, moves->index_type, max, stride * moves->width, outside);
      else
        code_.Address(address, k > 0, at, moves->index_type, max, stride * moves->width);
    }
    const FrameOffset base = window.starts.empty() ? cpu::Bytecode::kNoAddress : address;
    for (const WindowMoves::Move& move : window.moves) {
      if (is_scatter)
        ScatterMove(*moves, move, {result, base, updates, value});
      else
        GatherMove(*moves, move, {operand, base, 0, value}, result);
    }
    Bind(outside);
  }
  return true;
}

bool KernelCompiler::Gather(const Step& step, const KernelStep& kernel) {
  if (step.instruction->opcode() != Opcode::kGather) return false;
  const Slot operand = kernel.operands[0], indices = kernel.operands[1], result = kernel.results[0];
  const std::optional<LineGather> gather = FindLineGather(*step.instruction);
  // The validator takes the gathers that FindWindowMoves finds for moves.
  if (!gather.has_value() || FindWindowMoves(*step.instruction, plan_.buffers[indices].constant).has_value())
    return false;
  const cpu::TileCall call = cpu::GatherTile(gather->width, gather->index_type, gather->most);
  const auto is_small = [&](Slot slot) {
    return access_.Bytes(slot) <= (access_.IsInFrame(slot) ? kMaxBytesInFrame : kMaxCopiedOperand);
  };
  const bool is_literal = plan_.buffers[operand].kind == Buffer::Kind::kLiteral ||
                          plan_.buffers[indices].kind == Buffer::Kind::kLiteral;
  if (call.function == nullptr || is_literal || !stable_.Contains(result) || !is_small(operand) ||
      !is_small(indices) || gather->count == 0)
    return false;
  const auto width = static_cast<int32_t>(gather->width),
             index_width = static_cast<int32_t>(ByteCount(gather->index_type));
  const FrameOffset from = access_.Read(operand, 0, access_.Bytes(operand)),
                    at = access_.Read(indices, 0, access_.Bytes(indices));
  code_.Call(call, gather->count, {width, {width, index_width, 0}, gather->most + 1},
             access_.OffsetOf(result), {from, at, from});
  return true;
}

void KernelCompiler::GatherMove(const WindowMoves& moves, const WindowMoves::Move& move,
                                const MovedWindow& window, Slot result) {
  const int64_t bytes = moves.length * moves.width, from = move.operand * moves.width,
                to = move.other * moves.width;
  const bool is_in_frame = stable_.Contains(result);
  const FrameOffset at =
      is_in_frame ? static_cast<FrameOffset>(plan_.buffers[result].offset + to) : window.value;
  if (window.base == cpu::Bytecode::kNoAddress && access_.IsInFrame(window.operand))
    code_.Copy(at, access_.Read(window.operand, from, bytes), bytes);
  else
    code_.Load(at, window.operand, from, window.base, bytes);
  if (!is_in_frame) code_.Store(at, result, to, cpu::Bytecode::kNoAddress, bytes);
}

void KernelCompiler::ScatterMove(const WindowMoves& moves, const WindowMoves::Move& move,
                                 const MovedWindow& window) {
  const int64_t bytes = moves.length * moves.width, to = move.operand * moves.width;
  const auto from = static_cast<FrameOffset>(window.updates + move.other * moves.width);
  if (window.base == cpu::Bytecode::kNoAddress && stable_.Contains(window.operand)) {
    const auto at = static_cast<FrameOffset>(plan_.buffers[window.operand].offset + to);
    if (moves.combine.has_value())
      Combine(*moves.combine, moves.length, moves.width, at, from);
    else
      code_.Copy(at, from, bytes);
    return;
  }
  if (!moves.combine.has_value()) return code_.Store(from, window.operand, to, window.base, bytes);
  code_.Load(window.value, window.operand, to, window.base, bytes);
  Combine(*moves.combine, moves.length, moves.width, window.value, from);
  code_.Store(window.value, window.operand, to, window.base, bytes);
}

bool KernelCompiler::Dot(const Step& step, const KernelStep& kernel, bool in_loop) {
  const Slot a = kernel.operands[0], b = kernel.operands[1], result = kernel.results[0];
  const auto is_small = [&](Slot slot) {
    return access_.Bytes(slot) <= (in_loop && access_.IsInFrame(slot) ? kMaxBytesInFrame : kMaxDotBytes);
  };
  const std::optional<cpu::SmallDot> dot = FindSmallDot(*step.instruction);
  if (!dot.has_value() || !is_small(a) || !is_small(b) || !is_small(result) || !stable_.Contains(result))
    return false;
  const FrameOffset left = access_.Read(a, 0, access_.Bytes(a)), right = access_.Read(b, 0, access_.Bytes(b));
  code_.Dot(*dot, {access_.Bytes(result), access_.Bytes(a), access_.Bytes(b)},
            static_cast<FrameOffset>(plan_.buffers[result].offset), left, right);
  return true;
}

}  // namespace hlo::plan
