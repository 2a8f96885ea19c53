// Fuzzes with mutants of valid modules: types, sizes and index operands of single instructions are changed,
// on arrays that are large enough for a wild access to leave its allocation. Mutants that the checker accepts
// run on both engines and on the emulated GPU, which must agree. Intended for AddressSanitizer.
//
//   type_fuzz [--seed=N] [--iterations=N] [--seconds=N] [--elements=N] [--print]
//
// Iteration i of seed N always gives the same module. With HLO_RUN_FUZZ the bytes of the fuzzing engine
// decide.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/execute.h"
#include "hlo_run/io.h"
#include "hlo_run/parse.h"
#include "type_fuzz_modules.h"

namespace hlo::fuzz {
namespace {

struct Settings {
  int64_t elements = 200'000;
  bool print = false;
};

// Integers, predicates and data movement must be bit-equal. Floats have a generous tolerance, because other
// tests check them.
bool Agrees(const Literal& got, const Literal& wanted, std::string* report) {
  const std::vector<LiteralLeaf> a = ArrayLeaves(got), b = ArrayLeaves(wanted);
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    const ElementType type = b[k].value->type();
    const bool is_exact = !IsFloat(type) && !IsComplex(type);
    const double room = BitWidth(ComponentType(type)) >= 32   ? 1e-3
                        : BitWidth(ComponentType(type)) >= 16 ? 0.05
                                                              : 1;
    const CompareReport compared = CompareArrays(
        *a[k].value, *b[k].value, is_exact ? CompareRule::Exact() : CompareRule::Close(room, room));
    // Sums that overflow in only one order of summation are not findings.
    const bool is_special = !is_exact && compared.worst.has_value() && compared.worst->special;
    if (compared.ok() || is_special) continue;
    *report = ToString(compared);
    return false;
  }
  return true;
}

[[noreturn]] void Fail(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();  // Prints the module.
}

struct Counts {
  int64_t made = 0, accepted = 0, ran = 0;
};

// The running module, for crash reports.
const std::string* running = nullptr;

void PrintRunning() {
  if (running == nullptr) return;
  std::fprintf(stderr, "while this module ran:\n%s\n", running->c_str());
  std::fflush(stderr);
}

void OnSignal(int signal) {
  PrintRunning();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Indices are in bounds by default; moves some of them out of bounds.
void DisturbIndices(std::vector<Literal>& arguments, Choices& choices) {
  constexpr int32_t kExtremes[] = {-1, 0x7fffffff, -0x7fffffff - 1, 1 << 20, 3};
  for (Literal& argument : arguments) {
    if (!argument.shape().IsArray(ElementType::kS32) || choices.OneIn(2)) continue;
    const int64_t step = 1 + choices.Below(5);
    for (int64_t i = 0; i < argument.element_count(); i += step)
      argument.mutable_span<int32_t>()[i] = kExtremes[choices.Below(5)];
  }
}

void Run(const std::string& text, Choices& choices, Counts& counts) {
  running = &text;
  Diagnostics diagnostics;
  ++counts.made;
  std::shared_ptr<Module> parsed = Parse(std::make_shared<SourceText>("fuzz.hlo", text), diagnostics,
                                         {.infer_shape = InferMissingShape, .max_literal_bytes = 1 << 20});
  if (parsed == nullptr) return;
  const absl::StatusOr<CheckedModule> module = Check(std::move(parsed), diagnostics);
  if (!module.ok()) return;
  ++counts.accepted;
  absl::StatusOr<std::vector<Literal>> arguments = MakeInputs(module->module(), InputFill::kUniform, 1);
  if (!arguments.ok()) return;
  DisturbIndices(*arguments, choices);
  EvaluateOptions options;
  options.max_steps = 100'000;
  const absl::StatusOr<Literal> wanted = Execute(*module, *arguments, Engine::kReference, options);
  if (!wanted.ok() && absl::IsInternal(wanted.status())) Fail(wanted.status().ToString());
  for (const Device& device : {Device{}, Device{Device::Kind::kEmulatedGpu, 0}}) {
    const absl::StatusOr<Literal> got = Execute(*module, *arguments, Engine::kFast, options, device);
    if (!got.ok() && absl::IsInternal(got.status())) Fail(got.status().ToString());
    const std::string_view name = device.kind == Device::Kind::kCpu ? "fast engine: " : "emulated GPU: ";
    if (got.ok() != wanted.ok()) Fail(std::string(name) + (got.ok() ? wanted : got).status().ToString());
    std::string report;
    if (got.ok() && !Agrees(*got, *wanted, &report)) Fail(std::string(name) + report);
  }
  ++counts.ran;
}

}  // namespace
}  // namespace hlo::fuzz

#ifdef HLO_RUN_FUZZ

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo::fuzz::Counts counts;
  hlo::fuzz::Choices choices({data, size});
  const std::string text = hlo::fuzz::MakeMutant(choices, 20'000);
  hlo::fuzz::Run(text, choices, counts);
  return 0;
}

#else

// Provided by sanitizers.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

// Reads the value of `--name=N`.
bool ReadFlag(std::string_view argument, std::string_view name, int64_t* value) {
  if (!argument.starts_with(name) || argument.size() <= name.size() || argument[name.size()] != '=')
    return false;
  *value = std::strtoll(argument.data() + name.size() + 1, nullptr, 10);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t seed = 1, iterations = 1'000'000'000, seconds = 0;
  hlo::fuzz::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--print") {
      settings.print = true;
    } else if (!ReadFlag(argument, "--seed", &seed) && !ReadFlag(argument, "--iterations", &iterations) &&
               !ReadFlag(argument, "--seconds", &seconds) &&
               !ReadFlag(argument, "--elements", &settings.elements)) {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  if (iterations == 1'000'000'000 && seconds == 0) seconds = 60;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  hlo::fuzz::Counts counts;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP})
    std::signal(signal, &hlo::fuzz::OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&hlo::fuzz::PrintRunning);
  int64_t i = 0;
  for (; i < iterations && (seconds == 0 || std::chrono::steady_clock::now() < end); ++i) {
    hlo::fuzz::Choices choices(seed, i);
    std::string text = hlo::fuzz::MakeMutant(choices, settings.elements);
    text.insert(0, "// type_fuzz --seed=" + std::to_string(seed) + ", iteration " + std::to_string(i) + "\n");
    if (settings.print) std::printf("%s", text.c_str());
    hlo::fuzz::Run(text, choices, counts);
  }
  std::printf("seed %lld: %lld modules, %lld accepted, %lld run on both engines and the emulated GPU\n",
              static_cast<long long>(seed), static_cast<long long>(counts.made),
              static_cast<long long>(counts.accepted), static_cast<long long>(counts.ran));
  return counts.ran > 0 ? 0 : 1;
}

#endif
