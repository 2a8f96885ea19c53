#include "kernels/cpu/loops/tile_runner.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/access_runs.h"
#include "kernels/cpu/loops/tile_program.h"
#include "kernels/cpu/memory/row_walk.h"
#include "kernels/cpu/memory/thread_memory.h"

namespace hlo::cpu {
namespace {

std::byte* Scratch(int64_t bytes) {
  thread_local ThreadMemory memory;
  return memory.Reserve(bytes);
}

using Pattern = TileAccesses::Pattern;

}  // namespace

const Access& TileRunner::AccessOf(int32_t number) const { return program_.access(number); }

std::byte* TileRunner::RegisterOf(TileValue value) const {
  return scratch_ + program_.values_[value].register_number * program_.register_bytes_;
}

std::byte* TileRunner::ExtraRegister() const {
  return scratch_ + (program_.register_count_ - 1) * program_.register_bytes_;
}

const void* TileRunner::yielded(int64_t k) const { return pointers_[program_.yields()[k]]; }

TileRunner::TileRunner(const TileProgram& program, void* const* arguments)
    : program_(program),
      arguments_(arguments),
      base_(program.accesses_.offsets().begin(), program.accesses_.offsets().end()),
      ahead_(program.accesses_.irregular().size()) {
  start_.assign(base_.begin(), base_.begin() + static_cast<std::ptrdiff_t>(program.accesses().size()));
  if (const TileProgram::Native* native = program.ReadyNative(); native != nullptr) {
    native_ = &native->tiles;
    code_ = native->code.get();
  }
  // RunFirst runs the steps also if there is native code.
  const bool runs_steps = native_ == nullptr || !program.yields().empty();
  if (runs_steps) pointers_.resize(program.values_.size());
  int64_t bytes = program.register_bytes_ * program.register_count_;
  if (native_ != nullptr) {
    native_pointers_.resize(native_->reads.size() + native_->writes.size());
    transposed_.resize(native_->transposed_count);
    bytes += native_->slot_bytes * native_->slot_count;
    if (native_->transposed_count > 0) bytes += native_->TransposedBytes() * native_->transposed_count;
  }
  scratch_ = Scratch(bytes);
  for (const int32_t a : program.accesses_.started())
    start_[a] = base_[a] = StartOf(program.access(a), arguments);
  if (!runs_steps) return;
  for (const TileChain& chain : program.chains_)
    chain_steps_.insert(chain_steps_.end(), chain.steps.begin(), chain.steps.end());
  SetRegisters();
}

// Returns true if only the last digit of the outer position changes, and by one.
bool TileRunner::IsNextOuter(int64_t outer) {
  const bool is_next = outer == outer_ + 1 && outer_ >= 0 && outer_left_ > 0;
  outer_ = outer;
  if (is_next)
    --outer_left_;
  else if (!program_.outer_dims().empty())
    outer_left_ = program_.outer_dims().back() - 1 - outer % program_.outer_dims().back();
  return is_next;
}

void TileRunner::SetOuter(int64_t outer) {
  // RunFirst skips steps that later values need.
  fresh_ |= program_.accesses_.scalars_vary() || !program_.yields().empty();
  if (program_.accesses_.periodics_vary()) periodic_count_ = native_periodic_count_ = 0;
  for (Ahead& ahead : ahead_) ahead.position = -1;
  if (IsNextOuter(outer)) {
    for (const auto& [a, first] : program_.accesses_.irregular()) {
      int64_t* base = base_.data() + first;
      loops::VisitExtras(AccessOf(a), [&](const Affine& extra) { *base++ += extra.outer.back(); });
    }
    for (size_t a = 0; a < start_.size(); ++a) base_[a] += AccessOf(a).outer.back();
    return;
  }
  for (const auto& [a, first] : program_.accesses_.irregular()) {
    int64_t* base = base_.data() + first;
    loops::VisitExtras(AccessOf(a), [&](const Affine& extra) {
      *base = extra.offset;
      EachDigit(outer, program_.outer_dims(), [&](int64_t d, int64_t i) { *base += i * extra.outer[d]; });
      ++base;
    });
  }
  if (program_.outer_dims().size() == 1) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a] + outer * AccessOf(a).outer[0];
    return;
  }
  for (size_t a = 0; a < start_.size(); ++a) base_[a] = start_[a];
  EachDigit(outer, program_.outer_dims(), [&](int64_t d, int64_t i) {
    for (size_t a = 0; a < start_.size(); ++a) base_[a] += i * AccessOf(a).outer[d];
  });
}

void TileRunner::Splat(const TileInstruction& step, int64_t n, std::byte* to) const {
  const Access& from = AccessOf(step.access);
  const int64_t base = base_[step.access];
  alignas(16) std::byte element[16] = {};
  const ComputeType compute_type = program_.compute_type(step.out);
  if (from.argument == Access::kIota) {
    FillIota(compute_type, 1, element, base, 0);
  } else {
    const std::byte* at = ArrayOf(from) + base * ByteCount(from.type);
    if (step.call.function != nullptr) {
      const void* in[] = {at};
      step.call.function(1, element, in, step.call.parameter);
    } else {
      std::memcpy(element, at, ComputeTypeBytes(compute_type));
    }
  }
  CopyStrided(n, ComputeTypeBytes(compute_type), to, 1, element, 0);
}

void TileRunner::ReadForChains(const TileInstruction& step, int64_t begin, int64_t n, std::byte* to) {
  const TileAccesses& accesses = program_.accesses_;
  const Access& from = AccessOf(step.access);
  const ChainForm form = program_.values_[step.out].form;
  const void*& value = pointers_[step.out];
  if (form != ChainForm::kScalar && form != ChainForm::kCount) {
    value = accesses.Read(step.access, arguments_, base_.data(), begin, n, to);
    return;
  }
  const int64_t at = accesses.OffsetAt(step.access, base_.data(), begin);
  if (from.argument == Access::kIota) {
    FillIota(program_.compute_type(step.out), 1, to, at, 0);
    value = to;
    return;
  }
  value = ReadScalar(from.type, step.call, ArrayOf(from) + at * ByteCount(from.type), to);
}

void TileRunner::RunChainOf(const TileChain& chain, int64_t begin, int64_t n) {
  const auto memory = [&](int32_t number) {
    const Access& to = AccessOf(number);
    return ArrayOf(to) + (base_[number] + begin) * ByteCount(to.type);
  };
  ChainStep* steps = chain_steps_.data() + chain.begin;
  for (size_t k = 0; k < chain.steps.size(); ++k) {
    const TileChain::Operands& operands = chain.operands[k];
    if (operands.access >= 0) {
      steps[k].operand = memory(operands.access);
    } else if (operands.value >= 0 && chain.pointers[k].is_store) {
      const int32_t stored_as = program_.values_[operands.value].stored_as;
      const bool direct = stored_as >= 0 && program_.accesses_.pattern(stored_as) == Pattern::kDense;
      steps[k].operand = direct ? memory(stored_as) : RegisterOf(operands.value);
      pointers_[operands.value] = steps[k].operand;
    } else if (operands.value >= 0) {
      steps[k].operand = const_cast<void*>(pointers_[operands.value]);
      if (operands.second >= 0) steps[k].second = const_cast<void*>(pointers_[operands.second]);
    }
  }
  RunChain(n, steps, chain.pointers.data(), static_cast<int64_t>(chain.steps.size()));
}

// Splat values are computed only after the outer index has changed, and periodic ones only if those of the
// tile are not in their registers.
void TileRunner::RunSteps(size_t count, int64_t begin, int64_t n) {
  const TileAccesses& accesses = program_.accesses_;
  const int64_t splat_count = fresh_ ? std::min(program_.tile_, program_.inner_count()) : 0;
  const int64_t phase = begin % program_.period_;
  const bool keeps_periodic = n <= periodic_count_ && phase == phase_;
  for (size_t s = 0; s < count; ++s) {
    const TileInstruction& step = program_.steps_[s];
    if (step.chain >= 0) {
      const TileChain& chain = program_.chains_[step.chain];
      RunChainOf(chain, begin, n);
      s = chain.last;
      continue;
    }
    const TileRegister& value = program_.values_[step.out];
    std::byte* to = RegisterOf(step.out);
    if (step.access >= 0) {
      const Pattern pattern = accesses.pattern(step.access);
      if (keeps_periodic && accesses.IsPeriodic(step.access)) continue;
      if (value.for_chains && (pattern != Pattern::kScalar || splat_count != 0)) {
        ReadForChains(step, begin, n, to);
        continue;
      }
      if (pattern == Pattern::kScalar) {
        if (splat_count == 0) continue;
        Splat(step, splat_count, to);
        pointers_[step.out] = to;
        continue;
      }
      const bool widens = step.call.function != nullptr;
      std::byte* raw = widens ? ExtraRegister() : to;
      pointers_[step.out] = accesses.Read(step.access, arguments_, base_.data(), begin, n, raw);
      if (widens) {
        const void* in[] = {pointers_[step.out]};
        step.call.function(n, to, in, step.call.parameter);
        pointers_[step.out] = to;
      }
      continue;
    }
    if (value.stored_as >= 0 && accesses.pattern(value.stored_as) == Pattern::kDense) {
      const Access& stored = AccessOf(value.stored_as);
      to = ArrayOf(stored) + (base_[value.stored_as] + begin) * ByteCount(stored.type);
    }
    const void* in[3] = {pointers_[step.in[0]], nullptr, nullptr};
    if (step.operand_count > 1) in[1] = pointers_[step.in[1]];
    if (step.operand_count > 2) in[2] = pointers_[step.in[2]];
    step.call.function(n, to, in, step.call.parameter);
    pointers_[step.out] = to;
  }
  fresh_ = false;
  if (keeps_periodic) return;
  phase_ = phase;
  periodic_count_ = n;
}

void TileRunner::RunStores(int64_t begin, int64_t n) {
  for (const TileStore& stored : program_.stored_) {
    if (stored.by_chain) continue;
    const Access& to = AccessOf(stored.access);
    const bool dense = program_.accesses_.pattern(stored.access) == Pattern::kDense;
    if (dense && program_.values_[stored.value].stored_as == stored.access) continue;
    const auto* from = static_cast<const std::byte*>(pointers_[stored.value]);
    if (stored.narrow.function != nullptr) {
      std::byte* raw = ExtraRegister();
      const void* in[] = {from};
      if (dense) raw = ArrayOf(to) + (base_[stored.access] + begin) * ByteCount(to.type);
      stored.narrow.function(n, raw, in, stored.narrow.parameter);
      if (dense) continue;
      from = raw;
    }
    program_.accesses_.Write(stored.access, dense, arguments_, base_[stored.access], begin, n, from);
  }
}

const void* TileRunner::stored(int64_t begin) const {
  const Access& from = AccessOf(0);
  return ArrayOf(from) + program_.accesses_.OffsetAt(0, base_.data(), begin) * ByteCount(from.type);
}

void TileRunner::RunTile(int64_t begin, int64_t n) {
  if (native_ != nullptr) return RunNative(begin, n);
  if (program_.is_direct_) return RunDirect(begin, n);
  RunSteps(program_.steps_.size(), begin, n);
  RunStores(begin, n);
}

void TileRunner::RunTiles(int64_t begin, int64_t end) {
  const int64_t length = program_.row(), longest = tile();
  for (int64_t t = begin; t < end;) {
    const int64_t n = std::min({longest, end - t, length - t % length});
    RunTile(t, n);
    t += n;
  }
}

void TileRunner::Prefetch(int64_t begin, int64_t n, int64_t ahead, int32_t at_hand, bool stores) const {
  constexpr int64_t kLine = 64;
  if (program_.outer_dims().size() != 1) return;
  const auto call = [&](int32_t number) {
    const Access& from = AccessOf(number);
    if (program_.accesses_.pattern(number) != Pattern::kDense || !from.IsArray() ||
        from.argument == at_hand || from.outer[0] == 0)
      return;
    const int64_t width = ByteCount(from.type), at = base_[number] + begin + ahead * from.outer[0];
    const std::byte* first = ArrayOf(from) + at * width;
    for (int64_t line = 0; line < n * width; line += kLine) __builtin_prefetch(first + line);
  };
  for (const TileInstruction& step : program_.steps_) {
    if (step.access >= 0) call(step.access);
  }
  for (const TileStore& stored : program_.stored_) {
    if (stores) call(stored.access);
  }
}

void TileRunner::RunFirst(int64_t begin, int64_t n) {
  RunSteps(program_.first_steps_, begin, n);
  periodic_count_ = 0;  // Later steps were skipped.
}

}  // namespace hlo::cpu
