// Fuzzes runs on several devices with programs whose devices disagree: collectives in branches and loops that
// only some devices take, other groups, other reducers, sends without receives. Every run must end at once,
// with a result or a named error, and the same one on both engines and for any number of threads.
//
//   device_fuzz [--seed=N] [--iterations=N] [--seconds=N] [--gpu] [--print]
//
// Iteration i of seed N always gives the same module. With --gpu it also runs on emulated GPUs.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/execute.h"
#include "hlo_run/parse.h"
#include "unit/exec/local_processes.h"

namespace hlo::fuzz {
namespace {

// Writes a random module on s32[8] for a number of devices.
class Generator {
 public:
  Generator(uint64_t seed, int64_t replicas, int64_t partitions)
      : random_(seed), replicas_(replicas), partitions_(partitions) {}

  std::string Module() {
    const std::string entry = Body("ENTRY main", 0);
    return "f { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }\n"
           "g { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] maximum(x, y) }\n" +
           computations_ + entry;
  }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  std::string New(std::string_view prefix) { return fmt::format("{}{}", prefix, ++count_); }

  // Returns a computation of s32[8] -> s32[8] with random statements.
  std::string Body(const std::string& header, int depth) {
    std::string text = header + " {\n";
    std::string value = New("x");
    text += fmt::format("  {} = s32[8] parameter(0)\n", value);
    const int64_t statements = 1 + Below(3);
    for (int64_t i = 0; i < statements; ++i) value = Statement(value, depth, &text);
    return text + fmt::format("  ROOT {} = s32[8] negate({})\n}}\n", New("root"), value);
  }

  std::string Statement(const std::string& x, int depth, std::string* text) {
    const std::string y = New("y");
    const auto add = [&](std::string_view shape, const std::string& what) {
      *text += fmt::format("  {} = {} {}\n", y, shape, what);
      return y;
    };
    switch (depth < 3 ? Below(9) : Below(6)) {
      case 0:
      case 1:
        return add("s32[8]", fmt::format("all-reduce({}), {}, to_apply={}", x, Groups(true),
                                         Below(4) == 0 ? "g" : "f"));
      case 2:
        return add("s32[8]", fmt::format("collective-broadcast({}), {}", x, Groups(false)));
      case 3:
        return add("s32[8]", fmt::format("collective-permute({}), {}source_target_pairs={}", x,
                                         is_channel_ ? "channel_id=1, " : "", Pairs()));
      case 4:
        return Transfer(x, text);
      case 5:
        return add("s32[8]", fmt::format("add({}, {})", x, x));
      case 6:
        return Loop(x, depth, text);
      default:
        return Branch(x, depth, text);
    }
  }

  // Groups of replicas or partitions in random order; flattened ones for opcodes that have them.
  std::string Groups(bool has_flattened) {
    is_channel_ = partitions_ > 1 && Below(2) == 0;
    const bool is_flattened = has_flattened && Below(4) == 0;
    const int64_t ids = is_flattened                    ? replicas_ * partitions_
                        : is_channel_ && !has_flattened ? partitions_
                                                        : replicas_;
    std::vector<int64_t> order(ids);
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = ids - 1; i > 0; --i) std::swap(order[i], order[Below(i + 1)]);
    std::string text;
    for (size_t i = 0; i < order.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : Below(3) == 0 ? "},{" : ",", order[i]);
    return fmt::format("{}{}replica_groups={{{{{}}}}}", is_channel_ || is_flattened ? "channel_id=1, " : "",
                       is_flattened ? "use_global_device_ids=true, " : "", text);
  }

  // Every id is a source and a target at most once.
  std::string Pairs() {
    is_channel_ = partitions_ > 1 && Below(2) == 0;
    const int64_t ids = is_channel_ ? partitions_ : replicas_;
    const int64_t shift = Below(ids);
    std::vector<std::string> pairs;
    for (int64_t source = 0; source < ids; ++source) {
      if (Below(4) != 0) pairs.push_back(fmt::format("{{{},{}}}", source, (source + shift) % ids));
    }
    return fmt::format("{{{}}}", absl::StrJoin(pairs, ","));
  }

  // Half of the transfers have other pairs on the sending side.
  std::string Transfer(const std::string& x, std::string* text) {
    const std::string received = Pairs();
    const bool receives_partitions = is_channel_;
    const std::string sent = Below(2) == 0 ? Pairs() : received;
    if (sent == received) is_channel_ = receives_partitions;
    const std::string k = New("k"), v = New("v"), s = New("sent"), d = New("d"), t = New("t"), y = New("y");
    const auto attributes = [](bool has_channel, const std::string& pairs) {
      return fmt::format("{}frontend_attributes={{_xla_send_recv_source_target_pairs=\"{}\"}}",
                         has_channel ? "channel_id=1, " : "", pairs);
    };
    *text += fmt::format("  {} = token[] after-all()\n", k);
    *text += fmt::format("  {} = (s32[8], u32[], token[]) recv({}), {}\n", v, k,
                         attributes(receives_partitions, received));
    *text += fmt::format("  {} = (s32[8], u32[], token[]) send({}, {}), {}\n", s, x, k,
                         attributes(is_channel_, sent));
    *text += fmt::format("  {} = (s32[8], token[]) recv-done({}){}\n", d, v,
                         receives_partitions ? ", channel_id=1" : "");
    *text += fmt::format("  {} = token[] send-done({}){}\n", t, s, is_channel_ ? ", channel_id=1" : "");
    *text += fmt::format("  {} = s32[8] get-tuple-element({}), index=0\n", y, d);
    return y;
  }

  // A predicate that depends on the device, or on the data that they exchange.
  std::string Predicate(const std::string& x, std::string* text) {
    const std::string number = New("n"), bound = New("b"), p = New("p");
    if (Below(4) == 0) {
      const std::string slice = New("sent");
      *text += fmt::format("  {} = s32[1] slice({}), slice={{[0:1]}}\n", slice, x);
      *text += fmt::format("  {} = s32[] reshape({})\n", number, slice);
      *text += fmt::format("  {} = s32[] constant({})\n", bound, Below(4));
    } else {
      *text += fmt::format("  {} = u32[] {}()\n", number, Below(2) == 0 ? "partition-id" : "replica-id");
      *text += fmt::format("  {} = u32[] constant({})\n", bound, Below(std::max(replicas_, partitions_)));
    }
    *text += fmt::format("  {} = pred[] compare({}, {}), direction={}\n", p, number, bound,
                         Below(3) == 0 ? "EQ" : "LE");
    return p;
  }

  std::string Branch(const std::string& x, int depth, std::string* text) {
    const std::string p = Predicate(x, text), a = New("branch"), b = New("branch"), y = New("y");
    // Branches that are alike are paired by order of arrival.
    const bool are_alike = Below(2) == 0;
    const std::mt19937_64 state = random_;
    computations_ += Body(a, depth + 1);
    if (are_alike) random_ = state;
    computations_ += Body(b, depth + 1);
    *text += fmt::format("  {} = s32[8] conditional({}, {}, {}), true_computation={}, false_computation={}\n",
                         y, p, x, x, a, b);
    return y;
  }

  // A loop whose trip count is a constant, or differs between devices.
  std::string Loop(const std::string& x, int depth, std::string* text) {
    const std::string step = New("step"), body = New("body"), condition = New("condition"), n = New("n"),
                      w = New("w"), y = New("y"), i = New("i"), t = New("t");
    computations_ += Body(step, depth + 1);
    computations_ += fmt::format(
        "{} {{\n  s = (u32[], u32[], s32[8]) parameter(0)\n  i = u32[] get-tuple-element(s), index=0\n"
        "  n = u32[] get-tuple-element(s), index=1\n  ROOT l = pred[] compare(i, n), direction=LT\n}}\n",
        condition);
    computations_ += fmt::format(
        "{} {{\n  s = (u32[], u32[], s32[8]) parameter(0)\n  i = u32[] get-tuple-element(s), index=0\n"
        "  one = u32[] constant(1)\n  j = u32[] add(i, one)\n  n = u32[] get-tuple-element(s), index=1\n"
        "  x = s32[8] get-tuple-element(s), index=2\n  y = s32[8] call(x), to_apply={}\n"
        "  ROOT t = (u32[], u32[], s32[8]) tuple(j, n, y)\n}}\n",
        body, step);
    *text += fmt::format("  {} = u32[] constant(0)\n", i);
    if (Below(2) == 0)
      *text += fmt::format("  {} = u32[] constant({})\n", n, Below(3));
    else
      *text += fmt::format("  {} = u32[] {}()\n", n, Below(2) == 0 ? "partition-id" : "replica-id");
    *text += fmt::format("  {} = (u32[], u32[], s32[8]) tuple({}, {}, {})\n", t, i, n, x);
    *text += fmt::format("  {} = (u32[], u32[], s32[8]) while({}), condition={}, body={}\n", w, t, condition,
                         body);
    *text += fmt::format("  {} = s32[8] get-tuple-element({}), index=2\n", y, w);
    return y;
  }

  std::mt19937_64 random_;
  const int64_t replicas_, partitions_;
  bool is_channel_ = false;  // The collective that was written last has partition ids.
  int64_t count_ = 0;
  std::string computations_;
};

// Returns the results of a run, or its error, and its warnings.
struct Mode {
  Engine engine;
  int threads, processes;
  Device device = {};
};
absl::StatusOr<std::string> Outcome(const CheckedModule& module, const Mode& mode, bool strict) {
  constexpr EvaluateOptions kOptions{.max_seconds = 30};
  SetThreadCount(mode.threads);
  HLO_ASSIGN_OR_RETURN(Executable executable, Executable::Make(module, mode.engine, kOptions, mode.device));
  if (executable.engine() != mode.engine)
    return absl::UnimplementedError(std::string(executable.fallback_reason()));
  std::vector<std::vector<Literal>> arguments(executable.device_count());
  for (size_t d = 0; d < arguments.size(); ++d) {
    HLO_ASSIGN_OR_RETURN(Literal argument, Literal::Create(Shape::Array(ElementType::kS32, {8})));
    for (int32_t k = 0; k < 8; ++k) argument.mutable_span<int32_t>()[k] = static_cast<int32_t>(10 * d) + k;
    arguments[d].push_back(std::move(argument));
  }
  std::string text;
  std::optional<LocalProcesses> processes;
  DevicesOptions devices{.strict_match = strict};
  if (mode.processes > 1) devices.processes = processes.emplace(mode.processes).main();
  devices.warn = [&](const std::string& warning) { text += warning + "\n"; };
  const auto results = executable.RunDevices(std::move(arguments), kOptions, devices);
  if (absl::IsDeadlineExceeded(results.status())) return results.status();
  if (!results.ok()) {
    // On a busy machine, devices may wait so long that the message states it.
    static const std::regex kWaited(", for [0-9.]+ s\\b");
    return std::regex_replace(text + std::string(Message(results.status())) + "\n", kWaited, "");
  }
  for (const Literal& result : *results) text += ToString(result) + "\n";
  return text;
}

[[noreturn]] void Fail(const std::string& module, const std::string& what) {
  std::fprintf(stderr, "%s\n%s\n", module.c_str(), what.c_str());
  std::exit(1);
}

struct Counts {
  int64_t runs = 0, ended = 0, deadlocks = 0, paired = 0, other = 0;
};

void Run(uint64_t seed, bool on_gpu, bool print, Counts* counts) {
  std::mt19937_64 random(seed);
  const auto replicas = static_cast<int64_t>(1 + random() % 4),
             partitions = static_cast<int64_t>(1 + random() % 3);
  const bool strict = random() % 4 == 0;
  if (replicas * partitions == 1) return;
  const std::string text =
      fmt::format("HloModule m, replica_count={}, num_partitions={}\n", replicas, partitions) +
      Generator(random(), replicas, partitions).Module();
  if (print) std::printf("%s\n", text.c_str());
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>("m.hlo", text);
  const std::shared_ptr<Module> module = Parse(source, diagnostics);
  if (module == nullptr) Fail(text, std::string(Message(diagnostics.ToStatus(*source))));
  const absl::StatusOr<CheckedModule> checked = Check(module, diagnostics);
  if (!checked.ok()) Fail(text, std::string(Message(checked.status())));
  std::string first;
  std::vector<Mode> modes = {{Engine::kReference, 1, 1}, {Engine::kFast, 1, 1}, {Engine::kReference, 4, 1},
                             {Engine::kFast, 4, 1},      {Engine::kFast, 1, 2}, {Engine::kReference, 4, 3}};
  if (on_gpu) {
    const Device gpus = {Device::Kind::kEmulatedGpu, 0, {3}};
    modes.push_back({Engine::kFast, 4, 1, gpus});
    modes.push_back({Engine::kFast, 1, 2, gpus});
  }
  for (const Mode& mode : modes) {
    const absl::StatusOr<std::string> outcome = Outcome(*checked, mode, strict);
    if (!outcome.ok()) Fail(text, std::string(Message(outcome.status())));
    if (first.empty()) first = *outcome;
    if (*outcome != first) Fail(text, fmt::format("the outcomes differ:\n{}\n{}", first, *outcome));
    ++counts->runs;
  }
  if (print) std::printf("%s\n", first.c_str());
  const bool is_paired = first.find("paired by order of arrival") != std::string::npos;
  counts->paired += is_paired;
  if (first.find("deadlock") != std::string::npos)
    ++counts->deadlocks;
  else if (first.find(": '") == std::string::npos || is_paired ||
           first.find("never received") != std::string::npos)
    ++counts->ended;
  else
    ++counts->other;
}

}  // namespace
}  // namespace hlo::fuzz

int main(int argc, char** argv) {
  uint64_t seed = 1;
  int64_t iterations = 1000, seconds = 0;
  bool print = false, on_gpu = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto number = [&](std::string_view name, auto* value) {
      if (!argument.starts_with(name)) return false;
      *value = std::strtoull(argv[i] + name.size(), nullptr, 10);
      return true;
    };
    if (argument == "--print") {
      print = true;
    } else if (argument == "--gpu") {
      on_gpu = true;
    } else if (!number("--seed=", &seed) && !number("--iterations=", &iterations) &&
               !number("--seconds=", &seconds)) {
      std::fprintf(stderr,
                   "usage: device_fuzz [--seed=N] [--iterations=N] [--seconds=N] [--gpu] [--print]\n");
      return 2;
    }
  }
  hlo::fuzz::Counts counts;
  const auto start = std::chrono::steady_clock::now();
  int64_t done = 0;
  for (; seconds > 0 || done < iterations; ++done) {
    if (seconds > 0 && std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds)) break;
    hlo::fuzz::Run(seed * 1'000'003 + static_cast<uint64_t>(done), on_gpu, print, &counts);
  }
  std::printf(
      "%lld modules in %lld runs: %lld end well, %lld of them after pairing by arrival or later, %lld "
      "deadlock, "
      "%lld fail otherwise\n",
      static_cast<long long>(done), static_cast<long long>(counts.runs), static_cast<long long>(counts.ended),
      static_cast<long long>(counts.paired), static_cast<long long>(counts.deadlocks),
      static_cast<long long>(counts.other));
  return 0;
}
