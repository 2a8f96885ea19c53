#include "kernels/cpu/loops/tile_code.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "kernels/cpu/elementwise/tile_loops.h"
#include "kernels/cpu/loops/native_loop.h"
#include "kernels/cpu/loops/operand_count.h"

namespace hlo::cpu {
// The function as a loop over a tile, and its code.
struct TileCode::Native {
  explicit Native(const loops::ScalarFunction& function);

  loops::LoopProgram program{{}, {1}};
  std::vector<NativeLoop::Input> inputs;  // Those of the function, then its constants.
  std::vector<NativeLoop::Output> outputs;
  std::vector<std::array<std::byte, 16>> constants;
  LazyNativeLoop code;
};

TileCode::Native::Native(const loops::ScalarFunction& function) {
  std::vector<loops::Value> values(function.value_count());
  const auto load = [&](loops::Value value, NativeLoop::Form form) {
    const ElementType type = NativeLoop::TypeOf(function.compute_type(value));
    values[value] = program.Load(
        {.argument = static_cast<int32_t>(inputs.size()), .type = type, .inner = {1}, .starts = {}});
    inputs.push_back({values[value], form, type, false});
  };
  for (size_t i = 0; i < function.input_count(); ++i)
    load(static_cast<loops::Value>(i), NativeLoop::Form::kArray);
  for (const loops::ScalarFunction::Step& step : function.steps()) {
    if (step.operation.kind == loops::Operation::Kind::kNone) {
      load(step.out, NativeLoop::Form::kScalar);
      constants.push_back(step.constant);
      continue;
    }
    std::array<loops::Value, 3> in{};
    const int count = OperandCount(step.operation);
    for (int k = 0; k < count; ++k) in[k] = values[step.in[k]];
    values[step.out] =
        program.Apply(step.operation, function.compute_type(step.out), absl::MakeSpan(in).first(count));
  }
  for (const loops::Value value : function.yields())
    outputs.push_back({values[value], NativeLoop::TypeOf(function.compute_type(value)), false});
}

TileCode::TileCode(const loops::ScalarFunction& function)
    : types_(function.types().begin(), function.types().end()),
      inputs_(function.input_count()),
      results_(function.yields().begin(), function.yields().end()) {
  HLO_CHECK(!function.has_loops());
  for (const loops::ScalarFunction::Step& step : function.steps())
    steps_.push_back({FindTileCall(step.operation), step.out, step.in, step.constant});
}

void TileCode::Run(int64_t n, const void* const* in, void* const* out) const {
  // This is the common case: the combiner is a single operation.
  if (steps_.size() == 1 && results_.size() == 1 && steps_[0].call.function != nullptr &&
      results_[0] == steps_[0].out) {
    const Step& step = steps_[0];
    const void* operands[] = {in[step.in[0]], in[step.in[1]], in[step.in[2]]};
    step.call.function(n, out[0], operands, step.call.parameter);
    return;
  }
  if (native_ != nullptr && RunNative(n, in, out)) return;
  constexpr int64_t kPart = 128;
  constexpr size_t kMax = 64;
  HLO_CHECK(types_.size() <= kMax);
  alignas(64) std::byte scratch[kMax][kPart * 16];
  const void* at[kMax];
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t length = std::min(kPart, n - begin);
    for (size_t i = 0; i < inputs_; ++i)
      at[i] = static_cast<const std::byte*>(in[i]) + begin * ComputeTypeBytes(types_[i]);
    for (const Step& step : steps_) {
      std::byte* to = scratch[step.out];
      if (step.call.function == nullptr) {
        CopyStrided(length, ComputeTypeBytes(types_[step.out]), to, 1, step.constant.data(), 0);
      } else {
        const void* operands[] = {at[step.in[0]], at[step.in[1]], at[step.in[2]]};
        step.call.function(length, to, operands, step.call.parameter);
      }
      at[step.out] = to;
    }
    // All results are computed before the first is written, because outputs may alias inputs.
    for (size_t k = 0; k < results_.size(); ++k) {
      const loops::Value value = results_[k];
      const int64_t width = ComputeTypeBytes(types_[value]);
      if (static_cast<size_t>(value) < inputs_) std::memcpy(scratch[value], at[value], length * width);
    }
    for (size_t k = 0; k < results_.size(); ++k) {
      const loops::Value value = results_[k];
      const int64_t width = ComputeTypeBytes(types_[value]);
      std::memcpy(static_cast<std::byte*>(out[k]) + begin * width, scratch[value], length * width);
    }
  }
}

void TileCode::AllowNativeCode(const loops::ScalarFunction& function) {
  if (FindNativeIsa() == NativeIsa::kNone || steps_.size() < 2) return;
  native_ = std::make_shared<Native>(function);
}

// Returns false if there is no native code yet.
bool TileCode::RunNative(int64_t n, const void* const* in, void* const* out) const {
  Native& native = *native_;
  native.code.Prepare(nanoseconds_per_element() * static_cast<double>(n),
                      [&] { return NativeLoop::Compile(native.program, native.inputs, native.outputs); });
  const NativeLoop* const code = native.code.get();
  if (code == nullptr) return false;
  absl::InlinedVector<void*, 16> pointers;
  for (size_t i = 0; i < inputs_; ++i) pointers.push_back(const_cast<void*>(in[i]));
  for (auto& constant : native.constants) pointers.push_back(constant.data());
  pointers.insert(pointers.end(), out, out + results_.size());
  code->Run(pointers.data(), n);
  return true;
}

}  // namespace hlo::cpu
