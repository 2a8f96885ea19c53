// Dynamic padding of reductions, windows, convolutions and scans.

#include <optional>

#include "ir/combiners.h"
#include "ir/neutral_element.h"
#include "ir/result_shapes.h"
#include "ir/single_terms.h"
#include "plan/calls/call_builder.h"
#include "plan/rewrite/padded_op.h"
#include "types/index.h"

namespace hlo::plan {
namespace {

// Returns the elements of the root of an inlined computation.
std::vector<Op> RootElements(Op root, size_t count) {
  return root.ok() && root.shape().IsTuple() ? build::Elements(root) : std::vector<Op>(count, root);
}

// Returns the number of positions of a window on `size` elements; null if there is no rule.
Op WindowCount(PaddedInstruction& s, Op size, const WindowDim& window) {
  const int64_t padding = window.padding_low + window.padding_high,
                extent = (window.size - 1) * window.window_dilation + 1;
  if (window.base_dilation != 1 || padding < 0) return {};
  const Op last = size + s.Number(padding - extent);
  return build::Select(build::Lt(last, s.Number(0)), s.Number(0),
                       last / s.Number(window.stride) + s.Number(1));
}

bool IsTrivial(const WindowDim& window) { return window == WindowDim(); }

}  // namespace

// Neutral elements replace the elements beyond the sizes.
PaddedOps PaddedReduceWindow(PaddedInstruction& reduce) {
  if (reduce.operands.size() != 2) return {};
  const Window window = reduce.instruction.Get<attr::window>();
  const PaddedOp& x = reduce.operands[0];
  const Op neutral = reduce.NeutralElement();
  PaddedOp result{x.array, x.sizes};
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    if (!x.sizes[d].ok() || IsTrivial(window[d])) continue;
    result.sizes[d] = WindowCount(reduce, x.sizes[d], window[d]);
    if (!neutral.ok() || !result.sizes[d].ok()) return {};
    result.array = Masked(result.array, static_cast<int64_t>(d), x.sizes[d], neutral);
  }
  const build::Function code = reduce.ToApply();
  if (code.computation == nullptr) return {};
  result.array =
      reduce.Emit({result.array, reduce.operands[1].array}, {build::Attr<attr::to_apply>(code.computation)});
  return {result};
}

// Neutral elements replace surplus sources.
PaddedOps PaddedSelectAndScatter(PaddedInstruction& scatter) {
  const Computation &select = *scatter.instruction.Get<attr::select>(),
                    &combiner = *scatter.instruction.Get<attr::scatter>();
  const PaddedOp &x = scatter.operands[0], &source = scatter.operands[1];
  const std::optional<double> neutral = NeutralOf(combiner.root()->opcode(), source.array.type());
  if (x.HasSizes() || !neutral.has_value() || !IsOnTwoParameters(*combiner.root()) ||
      CallsComputations(select))
    return {};
  Op masked = source.array;
  for (size_t d = 0; d < source.sizes.size(); ++d) {
    if (source.sizes[d].ok())
      masked = Masked(masked, static_cast<int64_t>(d), source.sizes[d], build::ScalarLike(masked, *neutral));
  }
  const Op scattered =
      scatter.Emit({x.array, masked, scatter.operands[2].array},
                   {build::Attr<attr::select>(Imported(scatter.builder, select).computation),
                    build::Attr<attr::scatter>(Imported(scatter.builder, combiner).computation)});
  return {{scattered, x.sizes}};
}

// Zeros replace the features beyond the smaller size of both operands. The batch and the features of the
// result keep their sizes.
PaddedOps PaddedConvolution(PaddedInstruction& convolution) {
  const Instruction& instruction = convolution.instruction;
  const DimLabels& labels = *instruction.Get<attr::dim_labels>();
  const PaddedOp &x = convolution.operands[0], &kernel = convolution.operands[1];
  if (instruction.Get<attr::feature_group_count>(1) != 1 || instruction.Get<attr::batch_group_count>(1) != 1)
    return {};
  const auto has_size = [](const PaddedOp& array, int64_t d) {
    return array.sizes[static_cast<size_t>(d)].ok();
  };
  for (size_t k = 0; k < labels.input_spatial.size(); ++k) {
    if (has_size(x, labels.input_spatial[k]) || has_size(kernel, labels.kernel_spatial[k])) return {};
  }
  std::vector<Op> arrays = convolution.Arrays();
  const Op features = SmallerSize(x.sizes[static_cast<size_t>(labels.input_feature)],
                                  kernel.sizes[static_cast<size_t>(labels.kernel_input_feature)]);
  if (features.ok()) {
    arrays[0] = Masked(arrays[0], labels.input_feature, features, build::ScalarLike(arrays[0], 0));
    arrays[1] = Masked(arrays[1], labels.kernel_input_feature, features, build::ScalarLike(arrays[1], 0));
  }
  PaddedOp result{convolution.Emit(arrays), std::vector<Op>(x.sizes.size())};
  result.sizes[static_cast<size_t>(labels.output_batch)] = x.sizes[static_cast<size_t>(labels.input_batch)];
  result.sizes[static_cast<size_t>(labels.output_feature)] =
      kernel.sizes[static_cast<size_t>(labels.kernel_output_feature)];
  return {result};
}

// Steps beyond the size keep the carries. The carries are slices, as those that elementwise steps have.
PaddedOps PaddedScan(PaddedInstruction& scan) {
  const Computation& step = *scan.instruction.Get<attr::to_apply>();
  const int64_t dimension = scan.instruction.Get<attr::dimensions>()[0];
  const auto carries = static_cast<size_t>(scan.instruction.Get<attr::num_carries>());
  const size_t inputs = scan.operands.size() - carries;
  if (inputs == 0 || CallsComputations(step)) return {};
  const Op size = scan.operands[0].sizes[static_cast<size_t>(dimension)];
  for (size_t k = 0; k < scan.operands.size(); ++k) {
    for (size_t d = 0; d < scan.operands[k].sizes.size(); ++d) {
      const bool is_scanned = k < inputs && static_cast<int64_t>(d) == dimension;
      if (!IsSame(scan.operands[k].sizes[d], is_scanned ? size : Op())) return {};
    }
  }
  if (!size.ok()) return {};
  const size_t outputs = ResultShapes(scan.instruction).size() - carries;
  const build::Dims dims = scan.operands[0].array.dims();
  std::vector<int64_t> slice(dims.begin(), dims.end());
  slice.erase(slice.begin() + dimension);
  std::vector<Shape> parameters;
  for (const Instruction* parameter : step.parameters()) {
    parameters.push_back(parameter->shape());
    if (parameters.back().dims() != build::Dims(slice)) return {};
  }
  const auto flag = static_cast<std::ptrdiff_t>(inputs);
  parameters.insert(parameters.begin() + flag, Shape::Array(ElementType::kPred, slice));
  std::vector<Op> arrays = scan.Arrays();
  arrays.insert(arrays.begin() + flag, IsWithin(scan.builder, dims, dimension, size));
  const build::Function code =
      scan.builder.Define(step.name(), parameters, [&](const std::vector<Op>& arguments) {
        std::vector<Op> own = arguments;
        own.erase(own.begin() + flag);
        std::vector<Op> results = RootElements(Inlined(scan.builder, step, own), 1);
        for (size_t k = 0; k < carries; ++k) {
          results[outputs + k] = build::Select(arguments[inputs], results[outputs + k], own[inputs + k]);
        }
        return results.size() == 1 ? results[0] : scan.builder.Tuple(results);
      });
  if (code.computation == nullptr) return {};
  std::vector<std::vector<Op>> sizes;
  for (const Shape& shape : ResultShapes(scan.instruction)) {
    sizes.emplace_back(static_cast<size_t>(shape.rank()));
    if (sizes.size() <= outputs) sizes.back()[static_cast<size_t>(dimension)] = size;
  }
  return PaddedInstruction::Results(scan.Emit(arrays, {build::Attr<attr::to_apply>(code.computation),
                                                       build::Attr<attr::is_associative>(false)}),
                                    sizes);
}

// Each element is combined with a flag, which is false beyond the sizes; the other element is then the
// result. Single elements are not combined, so there the flag chooses between element and initial value.
PaddedOps PaddedReduce(PaddedInstruction& reduce) {
  const Computation& combiner = *reduce.instruction.Get<attr::to_apply>();
  const IntList reduced = reduce.instruction.Get<attr::dimensions>();
  const size_t count = reduce.operands.size() / 2;
  if (CallsComputations(combiner)) return {};
  std::vector<Op> arrays, inits, kept;
  std::vector<Shape> parameters;
  Op is_valid;
  for (size_t k = 0; k < count; ++k) {
    arrays.push_back(reduce.operands[k].array);
    inits.push_back(reduce.operands[count + k].array);
    if (inits[k].type() != arrays[k].type()) return {};
    parameters.push_back(inits[k].shape());
  }
  const build::Dims dims = arrays[0].dims();
  for (int64_t d = 0; d < arrays[0].rank(); ++d) {
    Op size;  // The size of the last operand that has one.
    for (size_t k = 0; k < count; ++k) {
      if (const Op own = reduce.operands[k].sizes[static_cast<size_t>(d)]; own.ok()) size = own;
    }
    if (!Contains(reduced, d)) {
      kept.push_back(size);
    } else if (size.ok()) {
      const Op within = IsWithin(reduce.builder, dims, d, size);
      is_valid = is_valid.ok() ? is_valid & within : within;
    }
  }
  const std::vector<std::vector<Op>> sizes(count, kept);
  if (!is_valid.ok())
    return PaddedInstruction::Results(build::Reduce(arrays, inits, reduce.ToApply(), reduced), sizes);
  if (ReducesSingleElements(reduce.instruction)) {
    const Index kept_dims = Pick(dims, OtherDims(arrays[0].rank(), reduced));
    std::vector<Op> results;
    for (size_t k = 0; k < count; ++k) {
      results.push_back(build::Select(build::Reshape(is_valid, kept_dims),
                                      build::Reshape(arrays[k], kept_dims),
                                      build::Broadcast(inits[k], kept_dims)));
    }
    return PaddedInstruction::Results(reduce.builder.Tuple(results), sizes);
  }
  arrays.push_back(is_valid);
  inits.push_back(reduce.builder.Constant(ElementType::kPred, 1));
  parameters.push_back(inits.back().shape());
  const std::vector<Shape> accumulators = parameters;
  parameters.insert(parameters.end(), accumulators.begin(), accumulators.end());
  const build::Function code =
      reduce.builder.Define(combiner.name(), parameters, [&](const std::vector<Op>& arguments) {
        std::vector<Op> both;
        for (size_t k = 0; k < arguments.size(); ++k) {
          if (k != count && k != 2 * count + 1) both.push_back(arguments[k]);
        }
        const Op left = arguments[count], right = arguments.back();
        std::vector<Op> results = RootElements(Inlined(reduce.builder, combiner, both), count);
        for (size_t k = 0; k < count; ++k)
          results[k] =
              build::Select(left & right, results[k], build::Select(right, both[count + k], both[k]));
        results.push_back(left | right);
        return reduce.builder.Tuple(results);
      });
  return PaddedInstruction::Results(build::Reduce(arrays, inits, code, reduced), sizes);
}

}  // namespace hlo::plan
