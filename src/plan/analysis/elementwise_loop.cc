#include "plan/analysis/elementwise_loop.h"

namespace hlo::plan {

const loops::LoopProgram* SingleLoop(const Step& step) {
  const auto* tiles = std::get_if<TileStep>(&step.what);
  const bool is_single = tiles != nullptr && tiles->programs.size() == 1 && tiles->updated == kNoValue;
  return is_single ? &tiles->programs[0] : nullptr;
}

bool IsInOrder(const loops::LoopProgram& loop, const loops::Access& access) {
  return loop.outer_count() == 1 && access.offset == 0 && access.starts.empty() && access.next < 0 &&
         loop.IsContiguous(access);
}

const loops::Access* StoreInOrder(const loops::LoopProgram& loop) {
  if (loop.stores().size() != 1) return nullptr;
  const loops::Access& store = loop.access(loop.stores()[0].access);
  return IsInOrder(loop, store) ? &store : nullptr;
}

int64_t ReadsInOrder(const loops::LoopProgram& loop, int64_t count,
                     absl::FunctionRef<bool(int32_t)> is_array) {
  bool in_order = loop.outer_count() == 1 && loop.inner_count() == count;
  int64_t reads = 0;
  loop.VisitAccesses([&](const loops::Access& access, bool is_store) {
    VisitOthers(access, [&](int32_t argument) { in_order &= !is_array(argument); });
    if (is_store) in_order &= access.starts.empty() && !access.drops;
    if (is_store || !access.IsArray() || !is_array(access.argument)) return;
    ++reads;
    in_order &= IsInOrder(loop, access);
  });
  return in_order ? reads : 0;
}

}  // namespace hlo::plan
