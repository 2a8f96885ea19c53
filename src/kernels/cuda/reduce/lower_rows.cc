#include "kernels/cuda/reduce/lower_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/lower_vm32_reduce.h"
#include "kernels/cuda/reduce/row_space.h"
#include "kernels/cuda/reduce/rows_body.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "kernels/cuda/vm/lower_vm32.h"

namespace hlo::cuda {
namespace {

// Arguments with these numbers or larger ones are values that stay in shared memory: one per element, and one
// per row.
constexpr int32_t kFirstVector = 1 << 28, kFirstScalar = 1 << 29;
// Two blocks per multiprocessor fit.
constexpr int64_t kMaxSharedBytes = 112 << 10;

std::vector<int64_t> Joined(const loops::Strides& outer, const loops::Strides& inner) {
  std::vector<int64_t> all(outer.begin(), outer.end());
  all.insert(all.end(), inner.begin(), inner.end());
  return all;
}

Vm32Rounding RoundingOf(VmMemory memory) {
  return memory == VmMemory::kBF16  ? Vm32Rounding::kBF16
         : memory == VmMemory::kF16 ? Vm32Rounding::kF16
                                    : Vm32Rounding::kNone;
}

// A load or a store of a part, over the dimensions of the common space.
struct Reference {
  size_t part;
  loops::Access access;
  int32_t pattern = -1;     // Equal numbers denote the same elements at all positions.
  bool is_per_row = false;  // The element is the same at all positions of a row.
  bool is_stored = false;
  int32_t number = -1;      // The access of the program, for a load.
  loops::Value value = -1;  // The value that a loop stores, for a store.
  // The value in shared memory that a load reads, or that a load or store writes.
  int32_t source = -1, shared = -1;
  bool in_memory = true;
};

// A value in shared memory.
struct SharedValue {
  size_t last = 0;       // The last part that reads it.
  int32_t argument = 0;  // From kFirstVector or kFirstScalar on.
};

// The program without pointers.
struct RowsTemplate {
  VmTemplate vm;
  RowsArgs args;
  std::vector<int32_t> inits, outputs;  // Indexed by part; -1: none.
  int vectors = 1;
  bool needs_calls = false;
  size_t shared_bytes = 0;
};

class RowsLowering {
 public:
  RowsLowering(absl::Span<const RowsPartProgram> parts, absl::FunctionRef<bool(int32_t)> is_live_out)
      : parts_(parts), is_live_out_(is_live_out) {}

  // If `caches_loads` is true, values that several parts load stay in shared memory.
  std::optional<RowsTemplate> Run(bool caches_loads, int64_t shared_bytes) {
    if (!FindSpace() || !FindReferences() || !FindSources() || !FindStores()) return std::nullopt;
    if (caches_loads) CacheLoads();
    if (!NumberKept() || !Emit()) return std::nullopt;
    if (!Configure(shared_bytes)) return std::nullopt;
    return std::move(made_);
  }

  // The arguments in memory.
  std::vector<RowsArgument> Arguments() const {
    std::vector<RowsArgument> arguments;
    const auto add = [&](int32_t argument, bool is_written, int32_t pattern) {
      for (RowsArgument& known : arguments) {
        if (known.argument != argument || known.is_written != is_written) continue;
        if (known.pattern != pattern) known.pattern = -1;
        return;
      }
      arguments.push_back({argument, is_written, pattern});
    };
    for (const Reference& each : references_) {
      for (const loops::RuntimeStart& start : each.access.starts) add(start.argument, false, -1);
      if (each.access.IsArray() && each.source < 0 && each.in_memory)
        add(each.access.argument, each.is_stored, each.is_per_row ? -1 : each.pattern);
    }
    for (const RowsPartProgram& part : parts_) {
      if (part.reduction != nullptr) add(part.reduction->results[0].init, false, -1);
    }
    return arguments;
  }

 private:
  bool FindSpace() {
    std::vector<std::vector<int64_t>> dims;
    for (const RowsPartProgram& part : parts_) {
      dims.push_back(DimsOf(*part.body));
      const loops::Reduction* reduction = part.reduction;
      if (reduction == nullptr) continue;
      if (!reduction->rows || reduction->part_length != 1 ||
          reduction->reassociation != loops::Reassociation::kAny || reduction->results.size() != 1 ||
          part.body->yields().size() != 1)
        return false;
      rows_ = reduction->KeptCount(*part.body);
      length_ = reduction->ReducedCount(*part.body);
    }
    if (rows_ <= 0 || length_ <= 0 || length_ % kVm32Width != 0 || parts_.size() > RowsArgs::kParts)
      return false;
    for (const RowsPartProgram& part : parts_) {
      if (part.reduction != nullptr && (part.reduction->KeptCount(*part.body) != rows_ ||
                                        part.reduction->ReducedCount(*part.body) != length_))
        return false;
    }
    space_ = RowSpace::Of(dims, rows_, length_);
    return space_.has_value();
  }

  bool IsPerRow(const RowsPartProgram& part) const {
    return part.reduction == nullptr && part.body->outer_count() * part.body->inner_count() == rows_;
  }

  int32_t PatternOf(const loops::Access& access) {
    const auto found = std::find_if(patterns_.begin(), patterns_.end(), [&](const loops::Access& known) {
      return known.offset == access.offset && known.inner == access.inner &&
             ByteCount(known.type) == ByteCount(access.type);
    });
    if (found == patterns_.end()) {
      patterns_.push_back(access);
      return static_cast<int32_t>(patterns_.size()) - 1;
    }
    return static_cast<int32_t>(found - patterns_.begin());
  }

  Reference& Add(size_t part, loops::Access access, bool is_stored) {
    Reference& added = references_.emplace_back(
        Reference{.part = part, .access = std::move(access), .is_stored = is_stored});
    added.is_per_row = space_->IsPerRow(added.access.inner);
    if (added.access.starts.empty()) added.pattern = PatternOf(added.access);
    return added;
  }

  bool FindReferences() {
    for (size_t p = 0; p < parts_.size(); ++p) {
      const loops::LoopProgram& body = *parts_[p].body;
      const std::vector<int64_t> dims = DimsOf(*parts_[p].body);
      // Returns the access over the common space.
      const auto common = [&](const loops::Access& access) {
        loops::Access moved = access;
        const std::vector<int64_t> strides = space_->Strides(dims, Joined(access.outer, access.inner));
        moved.outer.clear();
        moved.inner.assign(strides.begin(), strides.end());
        return moved;
      };
      for (const loops::LoopProgram::Step& step : body.steps()) {
        if (!step.IsLoad()) continue;
        const loops::Access& access = body.access(step.access);
        if (!access.IsRegular() || access.next >= 0 || access.argument < loops::Access::kIota) return false;
        Add(p, common(access), false).number = step.access;
      }
      for (const loops::LoopProgram::Stored& stored : body.stores()) {
        const loops::Access& access = body.access(stored.access);
        if (!access.IsRegular() || !access.starts.empty() || access.drops) return false;
        Reference& store = Add(p, common(access), true);
        store.value = stored.value;
        if (store.is_per_row && !IsPerRow(parts_[p])) return false;
      }
      if (parts_[p].reduction == nullptr) continue;
      const loops::Reduction::Result& result = parts_[p].reduction->results[0];
      loops::Access output{.argument = result.output, .type = result.output_type};
      const std::vector<int64_t> strides = space_->RowStrides();
      output.inner.assign(strides.begin(), strides.end());
      Add(p, std::move(output), true);
    }
    return true;
  }

  int32_t NewSharedValue() {
    shared_values_.emplace_back();
    return static_cast<int32_t>(shared_values_.size()) - 1;
  }

  // Lets loads read what earlier parts store.
  bool FindSources() {
    for (size_t r = 0; r < references_.size(); ++r) {
      Reference& load = references_[r];
      if (load.is_stored || !load.access.IsArray()) continue;
      for (size_t s = r; s-- > 0;) {
        Reference& store = references_[s];
        if (!store.is_stored || store.part == load.part || store.access.argument != load.access.argument)
          continue;
        if (load.pattern < 0 || store.pattern != load.pattern || store.access.type != load.access.type)
          return false;
        if (store.shared < 0) store.shared = NewSharedValue();
        load.source = store.shared;
        shared_values_[store.shared].last = load.part;
        break;
      }
      for (const loops::RuntimeStart& start : load.access.starts) {
        if (IsStoredBefore(start.argument, load.part)) return false;
      }
    }
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].reduction != nullptr && IsStoredBefore(parts_[p].reduction->results[0].init, p))
        return false;
    }
    return true;
  }
  bool IsStoredBefore(int32_t argument, size_t part) const {
    return std::any_of(references_.begin(), references_.end(), [&](const Reference& each) {
      return each.is_stored && each.part < part && each.access.argument == argument;
    });
  }

  // Finds the stores that need not reach memory. Returns false if another store overwrites elements that
  // another thread reads.
  bool FindStores() {
    for (size_t s = 0; s < references_.size(); ++s) {
      Reference& store = references_[s];
      if (!store.is_stored) continue;
      store.in_memory = is_live_out_(store.access.argument);
      for (size_t t = s + 1; t < references_.size(); ++t) {
        const Reference& later = references_[t];
        if (!later.is_stored || later.access.argument != store.access.argument) continue;
        if (later.pattern != store.pattern) return false;
        store.in_memory = false;
      }
      if (!store.in_memory) continue;
      for (const Reference& load : references_) {
        for (const loops::RuntimeStart& start : load.access.starts) {
          if (start.argument == store.access.argument) return false;
        }
        if (load.is_stored || load.source >= 0 || load.access.argument != store.access.argument) continue;
        if (load.pattern != store.pattern || load.is_per_row) return false;
      }
      for (const RowsPartProgram& part : parts_) {
        if (part.reduction != nullptr && part.reduction->results[0].init == store.access.argument)
          return false;
      }
    }
    return true;
  }

  void CacheLoads() {
    for (size_t r = 0; r < references_.size(); ++r) {
      Reference& first = references_[r];
      if (first.is_stored || !first.access.IsArray() || first.source >= 0 || first.is_per_row ||
          first.pattern < 0)
        continue;
      for (size_t q = r + 1; q < references_.size(); ++q) {
        Reference& later = references_[q];
        if (later.is_stored || later.source >= 0 || later.part == first.part ||
            later.access.argument != first.access.argument || later.pattern != first.pattern ||
            later.access.type != first.access.type)
          continue;
        if (first.shared < 0) first.shared = NewSharedValue();
        later.source = first.shared;
        shared_values_[first.shared].last = later.part;
      }
    }
  }

  // Assigns memory to the values in shared memory. A value may overwrite one that is last read in its part,
  // because parts keep values after all loads.
  bool NumberKept() {
    std::vector<size_t> last_of_vector;  // The last part that reads each vector.
    int32_t scalar_count = 0;
    for (const Reference& each : references_) {
      if (each.shared < 0) continue;
      SharedValue& shared = shared_values_[each.shared];
      if (each.is_per_row) {
        if (scalar_count == RowsArgs::kScalars) return false;
        shared.argument = kFirstScalar + scalar_count++;
        continue;
      }
      auto found = std::find_if(last_of_vector.begin(), last_of_vector.end(),
                                [&](size_t last) { return last <= each.part; });
      if (found == last_of_vector.end()) found = last_of_vector.insert(found, 0);
      *found = shared.last;
      shared.argument = kFirstVector + static_cast<int32_t>(found - last_of_vector.begin());
    }
    vector_count_ = static_cast<int64_t>(last_of_vector.size());
    return true;
  }

  // Returns the access to a shared value, which has no strides in a program of the 32-bit VM.
  loops::Access SharedAccess(int32_t shared, const loops::Access& access) const {
    loops::Access moved{.argument = shared_values_[shared].argument, .type = access.type};
    int64_t stride = shared_values_[shared].argument >= kFirstScalar ? 0 : 1;
    moved.inner.resize(space_->dims().size());
    for (size_t d = moved.inner.size(); d-- > 0; stride *= space_->dims()[d]) moved.inner[d] = stride;
    return moved;
  }

  bool Emit() {
    VmBuilder builder(1);
    std::vector<int> ends;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!EmitPart(p, builder)) return false;
      builder.EndSection();
      if (builder.code_count() == (ends.empty() ? 0 : ends.back())) return false;
      ends.push_back(builder.code_count());
    }
    absl::StatusOr<VmTemplate> vm = builder.Finish(space_->dims());
    if (!vm.ok()) return false;
    made_.vm = *std::move(vm);
    std::optional<Vm32Template> vm32 = LowerVm32(made_.vm, ends);
    if (!vm32.has_value()) return false;
    made_.args.program = vm32->program;
    made_.args.slot_count = static_cast<uint16_t>(vm32->slot_count);
    made_.needs_calls = vm32->needs_calls;
    MoveKept();
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (!Describe(p, vm32->ends[p])) return false;
    }
    return true;
  }

  bool EmitPart(size_t p, VmBuilder& builder) {
    const loops::LoopProgram& body = *parts_[p].body;
    std::vector<VmBuilder::Value> values;
    auto reference = std::find_if(references_.begin(), references_.end(),
                                  [&](const Reference& each) { return each.part == p; });
    std::vector<std::pair<VmBuilder::Value, loops::Access>> shared;
    for (const loops::LoopProgram::Step& step : body.steps()) {
      absl::StatusOr<VmBuilder::Value> value;
      if (step.IsLoad()) {
        const Reference& load = *reference++;
        value = builder.Load(load.source >= 0 ? SharedAccess(load.source, load.access) : load.access);
        if (value.ok() && load.shared >= 0)
          shared.emplace_back(*value, SharedAccess(load.shared, load.access));
      } else {
        absl::InlinedVector<VmBuilder::Value, 3> operands;
        for (const loops::Value operand : step.operands()) operands.push_back(values[operand]);
        value = builder.Apply(step.operation, step.compute_type, operands);
      }
      if (!value.ok()) return false;
      values.push_back(*value);
    }
    for (; reference != references_.end() && reference->part == p && reference->value >= 0; ++reference) {
      if (reference->in_memory && !builder.Store(values[reference->value], reference->access).ok())
        return false;
      if (reference->shared >= 0)
        shared.emplace_back(values[reference->value], SharedAccess(reference->shared, reference->access));
    }
    for (const auto& [value, access] : shared) {
      if (!builder.Store(value, access).ok()) return false;
    }
    if (parts_[p].reduction != nullptr) builder.CopyTo(builder.Pinned(0), values[body.yields()[0]]);
    return true;
  }

  // Replaces accesses to shared values by instructions for them.
  void MoveKept() {
    for (int i = 0; i < made_.args.program.code_count; ++i) {
      Vm32Instruction& in = made_.args.program.code[i];
      if (in.op != Vm32Op::kLoad && in.op != Vm32Op::kStore) continue;
      const int32_t argument = made_.vm.access_arguments[in.parameter];
      if (argument < kFirstVector) continue;
      const bool is_scalar = argument >= kFirstScalar;
      const Vm32Access& access = made_.args.program.accesses[in.parameter];
      if (in.op == Vm32Op::kLoad) {
        in.op = is_scalar ? Vm32Op::kScalarLoad : Vm32Op::kRowLoad;
      } else {
        in.op = is_scalar ? Vm32Op::kScalarKeep : Vm32Op::kRowKeep;
        if (!access.rounded) in.rounding = RoundingOf(access.memory);
      }
      in.parameter = static_cast<uint16_t>(argument - (is_scalar ? kFirstScalar : kFirstVector));
    }
    for (int32_t& argument : made_.vm.access_arguments) {
      if (argument >= kFirstVector) argument = -1;
    }
  }

  bool Describe(size_t p, int code_end) {
    RowsPart& part = made_.args.parts[made_.args.part_count++];
    part.code_end = static_cast<int16_t>(code_end);
    part.kind = IsPerRow(parts_[p]) ? RowsPart::Kind::kPerRow : RowsPart::Kind::kLoop;
    made_.inits.push_back(-1);
    made_.outputs.push_back(-1);
    if (parts_[p].reduction == nullptr) return true;
    const loops::Reduction& reduction = *parts_[p].reduction;
    const std::optional<Vm32Fold> fold = Vm32FoldOf(reduction);
    const std::optional<VmMemory> init = Vm32ScalarMemory(reduction.results[0].init_type),
                                  output = Vm32ScalarMemory(reduction.results[0].output_type);
    if (!fold.has_value() || !init.has_value() || !output.has_value()) return false;
    const auto result = std::find_if(references_.begin(), references_.end(), [&](const Reference& each) {
      return each.part == p && each.is_stored && each.value < 0;
    });
    part.kind = RowsPart::Kind::kReduction;
    part.fold = *fold;
    part.init_memory = *init;
    part.output_memory = *output;
    part.rounding = RoundingOf(*output);
    if (result->shared >= 0)
      part.scalar = static_cast<uint8_t>(shared_values_[result->shared].argument - kFirstScalar);
    made_.inits.back() = reduction.results[0].init;
    if (result->in_memory) made_.outputs.back() = reduction.results[0].output;
    // The accumulator holds the value; nothing reads its slot.
    made_.args.program.code[code_end - 1].out = Vm32Instruction::kNone;
    return true;
  }

  // Chooses threads per row and vectors per thread, by the shape alone.
  bool Configure(int64_t max_bytes) {
    RowsArgs& args = made_.args;
    args.rows = static_cast<uint32_t>(rows_);
    args.length = static_cast<uint32_t>(length_);
    args.group = length_ > 1024 || (rows_ < 1024 && length_ == 1024) ? kVm32Threads : kWarpSize;
    const int64_t step = int64_t{args.group} * kVm32Width;
    made_.vectors = length_ <= step ? 1 : 2;
    const int64_t chunk = int64_t{kVm32Threads} * made_.vectors,
                  chunks = (length_ + step * made_.vectors - 1) / (step * made_.vectors);
    args.row_step = static_cast<uint32_t>(chunk * chunks);
    const int64_t bytes = static_cast<int64_t>(RowsVm4::kHeaderBytes) +
                          int64_t{sizeof(Vm32Vector)} * chunk * (args.slot_count + chunks * vector_count_);
    made_.shared_bytes = static_cast<size_t>(bytes);
    return bytes <= max_bytes;
  }

  const absl::Span<const RowsPartProgram> parts_;
  const absl::FunctionRef<bool(int32_t)> is_live_out_;
  int64_t rows_ = 0, length_ = 0, vector_count_ = 0;
  std::optional<RowSpace> space_;
  std::vector<loops::Access> patterns_;
  std::vector<Reference> references_;  // In the order of parts; loads before stores.
  std::vector<SharedValue> shared_values_;
  RowsTemplate made_;
};

template <class Kernel>
absl::Status LaunchRows(const RowsArgs& args, size_t shared_bytes, device::Stream stream) {
  const uint32_t rows = Kernel::kThreads / args.group;
  return Launch<Kernel>({{CeilDiv(args.rows, rows)}, Kernel::kThreads, shared_bytes}, args, stream);
}

}  // namespace

std::optional<LoweredRows> LowerRows(absl::Span<const RowsPartProgram> parts,
                                     absl::FunctionRef<bool(int32_t)> is_live_out,
                                     const device::DeviceProperties& device) {
  const int64_t max_bytes = std::min(kMaxSharedBytes, static_cast<int64_t>(device.shared_bytes_per_block));
  for (const bool caches_loads : {true, false}) {
    RowsLowering lowering(parts, is_live_out);
    std::optional<RowsTemplate> made = lowering.Run(caches_loads, max_bytes);
    if (!made.has_value()) continue;
    const auto shared = std::make_shared<const RowsTemplate>(*std::move(made));
    LoweredProgram program{
        fmt::format("rows {} x {}, {} threads, {} parts{}", shared->vectors, kVm32Width, shared->args.group,
                    shared->args.part_count, shared->needs_calls ? "" : ", no calls"),
        [shared](void* const* pointers, void*, device::Stream stream) {
          RowsArgs run = shared->args;
          SetVm32Pointers(shared->vm, pointers, run.program);
          for (size_t p = 0; p < shared->inits.size(); ++p) {
            if (shared->inits[p] >= 0) run.parts[p].init = pointers[shared->inits[p]];
            if (shared->outputs[p] >= 0) run.parts[p].output = pointers[shared->outputs[p]];
          }
          const size_t bytes = shared->shared_bytes;
          if (shared->needs_calls) {
            return shared->vectors == 1 ? LaunchRows<WideRowsVm4>(run, bytes, stream)
                                        : LaunchRows<WideRowsVm8>(run, bytes, stream);
          }
          return shared->vectors == 1 ? LaunchRows<RowsVm4>(run, bytes, stream)
                                      : LaunchRows<RowsVm8>(run, bytes, stream);
        }};
    return LoweredRows{std::move(program), lowering.Arguments()};
  }
  return std::nullopt;
}

}  // namespace hlo::cuda
