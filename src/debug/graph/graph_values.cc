// Records the values that the page of a graph shows.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "base/activity.h"
#include "base/status.h"
#include "debug/diff/diff_run.h"
#include "debug/extract/function.h"
#include "debug/graph/graph.h"
#include "debug/selection.h"
#include "debug/trace/trace.h"
#include "fmt/format.h"

namespace hlo::debug {
namespace {

constexpr int64_t kBins = 32, kMaxPixels = 32, kMaxSlices = 4, kMaxListed = 16;

using See = std::function<void(const Instruction&, const Literal&)>;

class Recording {
 public:
  Recording(std::shared_ptr<const Module> module, const DiffOptions& options, const See& see)
      : module_(std::move(module)), options_(options), see_(see) {}

  absl::Status Record(const Computation& computation, const std::vector<Literal>& arguments) {
    if (!seen_computations_.insert(&computation).second) return absl::OkStatus();
    const FlatModule flat(module_, computation);
    const NodeValues known = ParameterValues(flat, arguments);
    const auto nodes = flat.instructions();
    for (size_t begin = 0; begin < nodes.size();) {
      Report({.what = fmt::format("computing the values of {}", computation.name()),
              .done = static_cast<int64_t>(begin),
              .total = static_cast<int64_t>(nodes.size()),
              .unit = "instructions"});
      std::vector<const Instruction*> chunk;
      int64_t bytes = 0;
      for (; begin < nodes.size() && bytes < options_.max_bytes; ++begin) {
        if (nodes[begin]->opcode() == Opcode::kTuple || nodes[begin]->shape().IsToken()) continue;
        chunk.push_back(nodes[begin]);
        bytes += DenseByteCount(nodes[begin]->shape()).value_or(0);
      }
      HLO_RETURN_IF_ERROR(RecordChunk(flat, chunk, known));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RecordChunk(const FlatModule& flat, const std::vector<const Instruction*>& chunk,
                           const NodeValues& known) {
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values, ComputeValues(flat, chunk, known, options_));
    for (size_t i = 0; i < chunk.size(); ++i) {
      const Instruction& original = flat.OriginalOf(*chunk[i]);
      if (values[i].shape().IsArray() && seen_.insert(&original).second) see_(original, values[i]);
      HLO_RETURN_IF_ERROR(RecordCallees(flat, *chunk[i], known));
    }
    return absl::OkStatus();
  }

  absl::Status RecordCallees(const FlatModule& flat, const Instruction& instruction,
                             const NodeValues& known) {
    const bool is_loop = instruction.opcode() == Opcode::kWhile;
    if (!is_loop && instruction.opcode() != Opcode::kConditional) return absl::OkStatus();
    const std::vector<const Instruction*> operands(instruction.operands().begin(),
                                                   instruction.operands().end());
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> values, ComputeValues(flat, operands, known, options_));
    if (!is_loop) {
      const int64_t branch = BranchOf(instruction, values[0]);
      return Record(*instruction.called_computations()[branch], {values[static_cast<size_t>(branch) + 1]});
    }
    HLO_RETURN_IF_ERROR(Record(*instruction.Get<attr::condition>(), {values[0]}));
    return Record(*instruction.Get<attr::body>(), {values[0]});
  }

  std::shared_ptr<const Module> module_;
  const DiffOptions& options_;
  const See& see_;
  absl::flat_hash_set<const Computation*> seen_computations_;
  absl::flat_hash_set<const Instruction*> seen_;
};

// Parts of a module cannot run alone if they exchange values, so the whole module is traced.
absl::Status RecordOnDevices(const CheckedModule& module, const WatchedArguments& arguments,
                             const DiffOptions& options, const See& see) {
  TraceOptions trace{.max_records = std::numeric_limits<int64_t>::max()};
  HLO_ASSIGN_OR_RETURN(trace.selected, Select(module.module(), {}));
  absl::flat_hash_set<const Instruction*> seen;
  return Trace(module, arguments, options.engine, options.evaluate, trace,
               [&](const TraceRecord& record) {
                 if (record.leaf == 0 && record.value.shape().IsArray() &&
                     seen.insert(record.instruction).second)
                   see(*record.instruction, record.value);
                 return absl::OkStatus();
               })
      .status();
}

// Returns the pixels of a slice that starts at an element. Each is the mean of a block.
std::string Picture(const Literal& array, int64_t start, const ValueFacts& facts) {
  const int64_t rows = array.dim(array.rank() - 2), columns = array.dim(array.rank() - 1);
  const double low = facts.statistics.min, width = facts.statistics.max - low;
  std::string pixels;
  for (int64_t r = 0; r < facts.rows; ++r) {
    for (int64_t c = 0; c < facts.columns; ++c) {
      double sum = 0;
      int64_t count = 0;
      for (int64_t y = r * rows / facts.rows;
           y < std::max((r + 1) * rows / facts.rows, r * rows / facts.rows + 1); ++y) {
        const int64_t end = std::max((c + 1) * columns / facts.columns, c * columns / facts.columns + 1);
        for (int64_t x = c * columns / facts.columns; x < end; ++x, ++count)
          sum += ElementAsDouble(array, start + y * columns + x);
      }
      const double t = width > 0 ? (sum / static_cast<double>(count) - low) / width : 0.5;
      pixels.push_back(std::isfinite(sum) ? static_cast<char>(std::clamp(t * 254, 0.0, 254.0)) : '\xff');
    }
  }
  return absl::Base64Escape(pixels);
}

// Returns the index of a slice in the dimensions before the last two: `[3,0]`.
std::string SliceName(const Literal& array, int64_t number) {
  std::vector<int64_t> index(static_cast<size_t>(array.rank()) - 2);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = number % array.dim(static_cast<int64_t>(d));
    number /= array.dim(static_cast<int64_t>(d));
  }
  return fmt::format("[{}]", absl::StrJoin(index, ","));
}

}  // namespace

absl::Status ForEachValue(const CheckedModule& module, const WatchedArguments& arguments,
                          const DiffOptions& options, const See& see) {
  if (arguments.by_device.size() > 1) return RecordOnDevices(module, arguments, options, see);
  return Recording(module.shared(), options, see).Record(*module.module().entry(), arguments.watched());
}

ValueFacts FactsOf(const Literal& array) {
  ValueFacts facts;
  facts.statistics = Statistics(array);
  for (int64_t i = 0; i < std::min(array.element_count(), kMaxListed); ++i) {
    const double element = ElementAsDouble(array, i);
    facts.first += i == 0 ? "" : ", ";
    facts.first += std::isnan(element) ? "nan" : fmt::format("{:.6g}", element);
  }
  if (array.element_count() > kMaxListed) facts.first += ", ...";
  if (array.element_count() > 1) facts.histogram = Histogram(array, facts.statistics, kBins);
  if (array.rank() < 2 || array.element_count() < 4) return facts;
  const int64_t size = array.dim(array.rank() - 2) * array.dim(array.rank() - 1);
  facts.rows = std::min(kMaxPixels, array.dim(array.rank() - 2));
  facts.columns = std::min(kMaxPixels, array.dim(array.rank() - 1));
  for (int64_t slice = 0; slice < std::min(kMaxSlices, array.element_count() / size); ++slice) {
    facts.slices.push_back(Picture(array, slice * size, facts));
    facts.slice_names.push_back(SliceName(array, slice));
  }
  return facts;
}

void AddErrors(Archive& recorded, const Instruction& instruction, const Literal& value,
               InstructionFacts& facts) {
  const std::string name(instruction.name());
  const bool is_recorded =
      std::find(recorded.keys().begin(), recorded.keys().end(), name) != recorded.keys().end();
  if (!is_recorded) return;
  const absl::StatusOr<Literal> want = recorded.Read(name, value.shape());
  if (!want.ok()) return;
  const ArrayStatistics statistics = Statistics(*want);
  const double largest = std::max(std::abs(statistics.min), std::abs(statistics.max));
  const CompareReport report = CompareArrays(value, *want, CompareRule::Exact(), 1);
  if (!report.worst)
    facts.error = 0;
  else
    facts.error = report.worst->special ? 1 : report.worst->abs / std::max(largest, 1e-30);
}

}  // namespace hlo::debug
