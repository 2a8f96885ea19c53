#include "plan/bytecode/frame_access.h"

namespace hlo::plan {

using cpu::FrameOffset;

FrameOffset FrameAccess::Import(Slot slot, int64_t offset, int64_t byte_count) {
  for (const PlanBytecode::Import& import : result_.imports) {
    if (import.slot == slot && import.offset == offset && import.byte_count == byte_count) return import.to;
  }
  const Literal* constant = plan_.buffers[slot].constant;
  if (constant == nullptr) {
    result_.imports.push_back({slot, offset, byte_count, allocator_.Allocate(byte_count)});
    return result_.imports.back().to;
  }
  // Equal constants share one copy in the frame.
  const auto [known, is_new] = constants_.try_emplace(
      std::string(reinterpret_cast<const char*>(constant->data()) + offset, byte_count), 0);
  if (is_new) {
    known->second = allocator_.Allocate(byte_count);
    result_.imports.push_back({slot, offset, byte_count, known->second});
  }
  return known->second;
}

FrameOffset FrameAccess::Read(Slot slot, int64_t offset, int64_t byte_count) {
  if (stable_.Contains(slot)) return static_cast<FrameOffset>(plan_.buffers[slot].offset + offset);
  if (stable_.IsInput(slot)) return Import(slot, offset, byte_count);
  const FrameOffset to = allocator_.AllocateTemporary(byte_count);
  result_.code.Load(to, slot, offset, cpu::Bytecode::kNoAddress, byte_count);
  return to;
}

void FrameAccess::CopyTo(Slot slot, FrameOffset from) {
  if (stable_.Contains(slot))
    result_.code.Copy(OffsetOf(slot), from, Bytes(slot));
  else
    result_.code.Store(from, slot, 0, cpu::Bytecode::kNoAddress, Bytes(slot));
}

cpu::Bytecode::Bytes FrameAccess::ExtentOf(Slot slot) const {
  const Buffer& buffer = plan_.buffers[slot];
  if (buffer.kind != Buffer::Kind::kArena) return {0, 0};
  if (!stable_.Contains(slot)) return {0, plan_.arena_bytes};
  return {OffsetOf(slot), buffer.byte_count};
}

cpu::FrameUse FrameAccess::Use() const {
  cpu::FrameUse use{.private_begin = plan_.arena_bytes};
  auto& arguments = use.arguments.emplace();
  for (size_t slot = 0; slot < plan_.buffers.size(); ++slot)
    arguments.push_back(ExtentOf(static_cast<Slot>(slot)));
  auto& results = use.results.emplace();
  for (const Slot slot : plan_.results) {
    if (slot >= 0) results.push_back(ExtentOf(slot));
  }
  for (const PlanBytecode::Import& import : result_.imports) {
    const Literal* constant = plan_.buffers[import.slot].constant;
    if (constant == nullptr) continue;
    const auto* bytes = static_cast<const std::byte*>(constant->data()) + import.offset;
    use.constants.push_back({import.to, {bytes, static_cast<size_t>(import.byte_count)}});
  }
  return use;
}

}  // namespace hlo::plan
