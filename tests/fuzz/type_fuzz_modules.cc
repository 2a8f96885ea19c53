#include "type_fuzz_modules.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace hlo::fuzz {
namespace {

// The size N, fractions of it, and the type T are substituted. `add`, `less` and `loop` are defined below.
constexpr std::string_view kModules[] = {
    "p = T[N] parameter(0)\n ROOT r = T[3,N] broadcast(p), dimensions={1}",
    "p = T[N] parameter(0)\n ROOT r = T[N] broadcast(p), dimensions={0}",
    "p = T[] parameter(0)\n b = T[N] broadcast(p), dimensions={}\n ROOT r = T[N] add(b, b)",
    "p = T[N] parameter(0)\n ROOT r = T[Q,4] reshape(p)",
    "p = T[Q,4] parameter(0)\n ROOT r = T[4,Q] transpose(p), dimensions={1,0}",
    "p = T[N] parameter(0)\n ROOT r = T[N] reverse(p), dimensions={0}",
    "p = T[N] parameter(0)\n ROOT r = T[H] slice(p), slice={[0:N:2]}",
    "p = T[Q,4] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
    " ROOT r = T[E,2] dynamic-slice(p, i, j), dynamic_slice_sizes={E,2}",
    "p = T[Q,4] parameter(0)\n i = s32[2] parameter(1)\n"
    " ROOT r = T[E,2] dynamic-slice(p, i), dynamic_slice_sizes={E,2}",
    "p = T[Q,4] parameter(0)\n u = T[E,2] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
    " ROOT r = T[Q,4] dynamic-update-slice(p, u, i, j)",
    "p = T[Q,4] parameter(0)\n u = T[E,2] parameter(1)\n i = s32[2] parameter(2)\n"
    " ROOT r = T[Q,4] dynamic-update-slice(p, u, i)",
    "p = T[H] parameter(0)\n q = T[H] parameter(1)\n ROOT r = T[N] concatenate(p, q), dimensions={0}",
    "p = T[H] parameter(0)\n q = T[] parameter(1)\n ROOT r = T[N] pad(p, q), padding=0_1_1",
    "p = T[N] parameter(0)\n i = s32[N] parameter(1)\n"
    " ROOT r = T[N] gather(p, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1}",
    "p = T[4,Q] parameter(0)\n i = s32[4,Q,1] parameter(1)\n"
    " ROOT r = T[4,Q] gather(p, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
    "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}",
    "p = T[Q,4] parameter(0)\n i = s32[E,1] parameter(1)\n"
    " ROOT r = T[E,4] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1,4}",
    "p = T[N] parameter(0)\n i = s32[E,1] parameter(1)\n u = T[E] parameter(2)\n"
    " ROOT r = T[N] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "p = T[4,Q] parameter(0)\n i = s32[4,E,1] parameter(1)\n u = T[4,E] parameter(2)\n"
    " ROOT r = T[4,Q] scatter(p, i, u), update_window_dims={}, inserted_window_dims={1}, "
    "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
    "index_vector_dim=2, to_apply=add",
    "p = T[Q,4] parameter(0)\n i = s32[1] parameter(1)\n u = T[E,4] parameter(2)\n"
    " ROOT r = T[Q,4] scatter(p, i, u), update_window_dims={0,1}, inserted_window_dims={}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=second",
    "p = T[E] parameter(0)\n ROOT r = T[E] sort(p), dimensions={0}, to_apply=less",
    "p = T[4,E] parameter(0)\n i = s32[4,E] iota(), iota_dimension=1\n"
    " ROOT r = (T[4,E], s32[4,E]) sort(p, i), dimensions={1}, is_stable=true, to_apply=lesspair",
    "p = T[N] parameter(0)\n q = T[N] parameter(1)\n m = pred[N] parameter(2)\n ROOT r = T[N] select(m, p, "
    "q)",
    "p = T[N] parameter(0)\n q = T[N] parameter(1)\n c = pred[N] compare(p, q), direction=LT\n"
    " ROOT r = T[N] select(c, p, q)",
    "p = T[N] parameter(0)\n l = T[] parameter(1)\n h = T[] parameter(2)\n ROOT r = T[N] clamp(l, p, h)",
    "p = T[N] parameter(0)\n q = T[N] parameter(1)\n s = T[N] add(p, q)\n m = T[N] multiply(s, q)\n"
    " ROOT r = T[N] maximum(m, p)",
    "p = T[N] parameter(0)\n c = T[N] convert(p)\n ROOT r = T[N] negate(c)",
    "p = T[N] parameter(0)\n a = T[N] abs(p)\n ROOT r = T[N] copy(a)",
    "p = f32[N] parameter(0)\n q = f32[N] parameter(1)\n c = c64[N] complex(p, q)\n a = f32[N] abs(c)\n"
    " i = f32[N] imag(c)\n ROOT r = f32[N] subtract(a, i)",
    "p = f32[N] parameter(0)\n ROOT r = f32[N] reduce-precision(p), exponent_bits=5, mantissa_bits=3",
    "p = T[N] parameter(0)\n ROOT r = T[N] bitcast-convert(p)",
    "p = T[N] parameter(0)\n ROOT r = T[Q,4] bitcast(p)",
    "p = T[Q,4] parameter(0)\n z = T[] parameter(1)\n ROOT r = T[Q] reduce(p, z), dimensions={1}, "
    "to_apply=add",
    "p = T[4,Q] parameter(0)\n z = T[] parameter(1)\n ROOT r = T[Q] reduce(p, z), dimensions={0}, "
    "to_apply=add",
    "p = T[Q,4] parameter(0)\n i = s32[Q,4] iota(), iota_dimension=1\n z = T[] parameter(1)\n k = s32[] "
    "constant(0)\n"
    " ROOT r = (T[Q], s32[Q]) reduce(p, i, z, k), dimensions={1}, to_apply=larger",
    "p = T[Q,4] parameter(0)\n z = T[] parameter(1)\n"
    " ROOT r = T[E,4] reduce-window(p, z), window={size=2x1 stride=2x1}, to_apply=add",
    "p = T[Q,4] parameter(0)\n s = T[E,4] parameter(1)\n z = T[] parameter(2)\n"
    " ROOT r = T[Q,4] select-and-scatter(p, s, z), window={size=2x1 stride=2x1}, select=less, scatter=add",
    "p = T[E,8] parameter(0)\n q = T[8,4] parameter(1)\n"
    " ROOT r = T[E,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "p = T[2,E,4] parameter(0)\n q = T[3,4,4] parameter(1)\n"
    " ROOT r = T[2,E,4] convolution(p, q), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
    "p = T[N] parameter(0)\n q = T[] parameter(1)\n ROOT r = T[N] map(p, q), to_apply=add",
    "p = T[N] parameter(0)\n q = T[N] parameter(1)\n ROOT r = T[N] map(p, q), dimensions={0}, to_apply=add",
    "p = T[Q,4] parameter(0)\n u = T[1,4] parameter(1)\n z = s32[] constant(0)\n"
    " t = (s32[], T[Q,4], T[1,4]) tuple(z, p, u)\n"
    " ROOT r = (s32[], T[Q,4], T[1,4]) while(t), condition=goon, body=loop",
    "c = pred[] parameter(0)\n p = T[N] parameter(1)\n q = T[N] parameter(2)\n"
    " ROOT r = T[N] conditional(c, p, q), true_computation=same, false_computation=twice",
    "p = T[N] parameter(0)\n ROOT r = T[N] call(p), to_apply=twice",
    "p = T[N] parameter(0)\n ROOT r = T[N] fusion(p), kind=kLoop, calls=twice",
    "p = T[N] parameter(0)\n s = ((T[N]), T[N], s32[]) async-start(p), calls=twice\n"
    " ROOT r = T[N] async-done(s), calls=twice",
    "p = T[N] parameter(0)\n s = (T[N], T[N], u32[]) copy-start(p)\n ROOT r = T[N] copy-done(s)",
    "p = T[N] parameter(0)\n t = (T[N], T[N]) tuple(p, p)\n b = (T[N], T[N]) opt-barrier(t)\n"
    " ROOT r = T[N] get-tuple-element(b), index=1",
    "p = T[N] parameter(0)\n ROOT r = T[N] all-reduce(p), replica_groups={{0}}, to_apply=add",
    "p = T[N] parameter(0)\n ROOT r = T[N] all-gather(p), dimensions={0}, replica_groups={{0}}",
    "p = T[N] parameter(0)\n ROOT r = T[N] collective-permute(p), source_target_pairs={{0,0}}",
    "p = T[N] parameter(0)\n ROOT r = T[N] all-to-all(p), replica_groups={{0}}, dimensions={0}",
    "p = T[N] parameter(0)\n ROOT r = T[N] reduce-scatter(p), dimensions={0}, replica_groups={{0}}, "
    "to_apply=add",
    "p = T[N] parameter(0)\n ROOT r = T[N] custom-call(p), custom_call_target=\"Sharding\"",
    "p = f32[4,Q] parameter(0)\n ROOT r = (f32[4,3], s32[4,3]) topk(p), k=3, largest=true",
    "p = f32[4,Q] parameter(0)\n ROOT r = (f32[4,3], s32[4,3]) custom-call(p), custom_call_target=\"TopK\", "
    "called_computations={greater}",
    "p = f32[E,4] parameter(0)\n s = f32[4] parameter(1)\n o = f32[4] parameter(2)\n"
    " ROOT r = (f32[E,4], f32[4], f32[4]) batch-norm-training(p, s, o), epsilon=0.001, feature_index=1",
    "p = f32[E,4] parameter(0)\n s = f32[4] parameter(1)\n o = f32[4] parameter(2)\n m = f32[4] "
    "parameter(3)\n"
    " v = f32[4] parameter(4)\n"
    " ROOT r = f32[E,4] batch-norm-inference(p, s, o, m, v), epsilon=0.001, feature_index=1",
    "p = f32[E,3,3] parameter(0)\n t = f32[E,3,3] transpose(p), dimensions={0,2,1}\n"
    " ROOT r = f32[E,3,3] triangular-solve(p, t), left_side=true, lower=true, transpose_a=NO_TRANSPOSE, "
    "unit_diagonal=true",
    "p = c64[E,8] parameter(0)\n ROOT r = c64[E,8] fft(p), fft_type=FFT, fft_length={8}",
    "p = u64[2] parameter(0)\n ROOT r = (u64[2], u32[N]) rng-bit-generator(p), algorithm=rng_philox",
    "p = T[N] parameter(0)\n n = s32[] constant(7)\n s = T[<=N] set-dimension-size(p, n), dimensions={0}\n"
    " m = T[<=N] add(s, s)\n ROOT r = s32[] get-dimension-size(m), dimensions={0}",
    "p = T[N] parameter(0)\n ROOT r = T[N] shuffle(p), dimensions={0}, mode=rotate, shifts={5}",
};

constexpr std::string_view kComputations = R"(
add { a = T[] parameter(0)
 b = T[] parameter(1)
 ROOT c = T[] add(a, b) }
second { a = T[] parameter(0)
 ROOT b = T[] parameter(1) }
less { a = T[] parameter(0)
 b = T[] parameter(1)
 ROOT c = pred[] compare(a, b), direction=LT }
greater { a = f32[] parameter(0)
 b = f32[] parameter(1)
 i = s32[] parameter(2)
 j = s32[] parameter(3)
 ROOT c = pred[] compare(a, b), direction=GT }
lesspair { a = T[] parameter(0)
 b = T[] parameter(1)
 i = s32[] parameter(2)
 j = s32[] parameter(3)
 ROOT c = pred[] compare(a, b), direction=LT }
larger { a = T[] parameter(0)
 i = s32[] parameter(1)
 b = T[] parameter(2)
 j = s32[] parameter(3)
 c = pred[] compare(a, b), direction=GT
 v = T[] select(c, a, b)
 k = s32[] select(c, i, j)
 ROOT t = (T[], s32[]) tuple(v, k) }
same { ROOT a = T[N] parameter(0) }
twice { a = T[N] parameter(0)
 ROOT b = T[N] add(a, a) }
goon { t = (s32[], T[Q,4], T[1,4]) parameter(0)
 i = s32[] get-tuple-element(t), index=0
 n = s32[] constant(3)
 ROOT c = pred[] compare(i, n), direction=LT }
loop { t = (s32[], T[Q,4], T[1,4]) parameter(0)
 i = s32[] get-tuple-element(t), index=0
 p = T[Q,4] get-tuple-element(t), index=1
 u = T[1,4] get-tuple-element(t), index=2
 o = s32[] constant(1)
 n = s32[] add(i, o)
 z = s32[] constant(0)
 d = T[Q,4] dynamic-update-slice(p, u, i, z)
 ROOT r = (s32[], T[Q,4], T[1,4]) tuple(n, d, u) }
)";

constexpr std::string_view kFloats[] = {"f32", "f16", "bf16", "f64", "f8e5m2", "f8e4m3fn"};
constexpr std::string_view kTypes[] = {"f32", "f16", "bf16", "f64", "s32",  "pred", "s8",    "u8",
                                       "s64", "u16", "s4",   "c64", "c128", "u32",  "f8e5m2"};

template <size_t kCount>
std::string_view Pick(const std::string_view (&list)[kCount], Choices& choices) {
  return list[choices.Below(kCount)];
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The half-open range of a word in a text.
struct Span {
  size_t begin, end;
};
std::vector<Span> WordsOf(std::string_view text) {
  std::vector<Span> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    while (i < text.size() && IsWord(text[i])) ++i;
    if (i > begin)
      words.push_back({begin, i});
    else
      ++i;
  }
  return words;
}

std::string WithWords(std::string_view text, std::string_view type, int64_t n) {
  std::string result;
  size_t done = 0;
  for (const Span& word : WordsOf(text)) {
    const std::string_view name = text.substr(word.begin, word.end - word.begin);
    std::string by;
    if (name == "T") by = type;
    if (name == "N") by = std::to_string(n);
    if (name == "H") by = std::to_string(n / 2);
    if (name == "Q") by = std::to_string(n / 4);
    if (name == "E") by = std::to_string(n / 8);
    if (by.empty()) continue;
    result.append(text.substr(done, word.begin - done)).append(by);
    done = word.end;
  }
  return result.append(text.substr(done));
}

bool IsType(std::string_view word) {
  for (const std::string_view type : kTypes) {
    if (word == type) return true;
  }
  return word == "u64" || word == "f8e4m3fn";
}
bool IsNumber(std::string_view word) {
  return word.find_first_not_of("0123456789") == std::string_view::npos;
}

// Changes the type of one shape, usually from float to float.
void ChangeType(std::string& text, Choices& choices) {
  std::vector<Span> types;
  for (const Span& word : WordsOf(text)) {
    if (word.end < text.size() && text[word.end] == '[' &&
        IsType(text.substr(word.begin, word.end - word.begin)))
      types.push_back(word);
  }
  if (types.empty()) return;
  const Span at = types[choices.Below(static_cast<int64_t>(types.size()))];
  const std::string_view by = choices.OneIn(4) ? Pick(kTypes, choices) : Pick(kFloats, choices);
  text.replace(at.begin, at.end - at.begin, by);
}

// Changes a size or dimension number.
void ChangeNumber(std::string& text, Choices& choices) {
  std::vector<Span> numbers;
  for (const Span& word : WordsOf(text)) {
    const bool is_parameter = word.begin > 0 && text[word.begin - 1] == '(';
    if (!is_parameter && IsNumber(std::string_view(text).substr(word.begin, word.end - word.begin)))
      numbers.push_back(word);
  }
  if (numbers.empty()) return;
  const Span at = numbers[choices.Below(static_cast<int64_t>(numbers.size()))];
  const int64_t old = std::strtoll(text.c_str() + at.begin, nullptr, 10);
  const std::array<int64_t, 8> by = {0, 1, 2, old + 1, old - 1, old / 2, old * 2, old + 3};
  text.replace(at.begin, at.end - at.begin, std::to_string(by[choices.Below(8)]));
}

// Returns only the computations that the text uses, so that most mutations hit the instruction.
std::string Computations(std::string_view entry) {
  std::string result;
  size_t begin = 1;
  while (begin < kComputations.size()) {
    const size_t end = kComputations.find("}\n", begin) + 2;
    const std::string_view computation = kComputations.substr(begin, end - begin);
    const std::string name(computation.substr(0, computation.find(' ')));
    for (const std::string_view before : {"=", "={"}) {
      const size_t at = entry.find(std::string(before) + name);
      if (at == std::string_view::npos) continue;
      const size_t after = at + before.size() + name.size();
      if (after >= entry.size() || !IsWord(entry[after])) {
        result.append(computation);
        break;
      }
    }
    begin = end;
  }
  return result;
}

}  // namespace

int64_t Choices::Below(int64_t count) {
  if (is_random_) return static_cast<int64_t>(random_() % static_cast<uint64_t>(count));
  uint64_t value = 0;
  for (int i = 0; i < 2 && !bytes_.empty(); ++i, bytes_.remove_prefix(1)) value = value << 8 | bytes_[0];
  return static_cast<int64_t>(value % static_cast<uint64_t>(count));
}

std::string MakeMutant(Choices& choices, int64_t elements) {
  const std::string_view entry = Pick(kModules, choices);
  const int64_t n = (choices.OneIn(3) ? 64 : elements) / 64 * 64;
  const std::string_view type = choices.OneIn(2) ? Pick(kTypes, choices) : Pick(kFloats, choices);
  std::string text = "HloModule fuzz\n" +
                     WithWords(Computations(entry) + "ENTRY e {\n " + std::string(entry) + "\n}\n", type, n);
  const int64_t changes = choices.Below(4);
  for (int64_t i = 0; i < changes; ++i) {
    if (choices.OneIn(3))
      ChangeNumber(text, choices);
    else
      ChangeType(text, choices);
  }
  return text;
}

}  // namespace hlo::fuzz
