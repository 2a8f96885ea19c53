#include "reference/fold_loop.h"

#include <complex>
#include <type_traits>

#include "types/dispatch.h"
#include "types/scalar_ops.h"

namespace hlo::reference {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
auto Widen(const T& value) {
  if constexpr (kIsHalf<T>)
    return value.ToFloat();
  else
    return value;
}

// One operation in f32 has the same bits as in f64 after rounding to f32, f16 or bf16.
template <class F, class T>
void Fold(void* sums, const void* values, int64_t count) {
  T* const sum = static_cast<T*>(sums);
  const T* const x = static_cast<const T*>(values);
  for (int64_t i = 0; i < count; ++i) {
    const auto value = F()(Widen(sum[i]), Widen(x[i]));
    if constexpr (kIsHalf<T>)
      sum[i] = T::FromFloat(value);
    else
      sum[i] = value;
  }
}

// Complex products round more than once.
template <class F, class T>
constexpr bool kRoundsOnce = kIsHalf<T> || std::is_arithmetic_v<T> ||
                             (scalar::ComplexNumber<T> && std::is_same_v<F, scalar::Add>);

template <class F, class T>
FoldLoop LoopOf() {
  if constexpr (!kRoundsOnce<F, T>)
    return nullptr;
  else if constexpr (std::is_invocable_v<F, decltype(Widen(T())), decltype(Widen(T()))>)
    return &Fold<F, T>;
  else
    return nullptr;
}

template <class F>
FoldLoop LoopFor(ElementType type) {
  return DispatchType(type, []<ElementType kType>() { return LoopOf<F, Native<kType>>(); });
}

}  // namespace

FoldLoop FindFoldLoop(Opcode opcode, ElementType type) {
  if (type != ElementType::kPred && BitWidth(type) != 8 * ByteCount(type)) return nullptr;
  switch (opcode) {
    case Opcode::kAdd:
      return LoopFor<scalar::Add>(type);
    case Opcode::kMultiply:
      return LoopFor<scalar::Multiply>(type);
    case Opcode::kMaximum:
      return LoopFor<scalar::Maximum>(type);
    case Opcode::kMinimum:
      return LoopFor<scalar::Minimum>(type);
    case Opcode::kAnd:
      return LoopFor<scalar::And>(type);
    case Opcode::kOr:
      return LoopFor<scalar::Or>(type);
    default:
      return nullptr;
  }
}

}  // namespace hlo::reference
