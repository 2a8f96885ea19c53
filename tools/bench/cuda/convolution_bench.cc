// Benchmarks convolutions against cuDNN: layers of ResNet-50, a depthwise and a three-dimensional one,
// forward and backward, with features last. cuDNN uses its fastest algorithm, for f32 without tensor cores.

#include <cudnn.h>

#include <cmath>
#include <optional>
#include <random>

#include "bench.h"
#include "types/small_float.h"

namespace hlo::bench {
namespace {

enum class Direction { kForward, kInput, kFilter };

// All spatial dimensions are equal.
struct Layer {
  int64_t rank, batch, size, inputs, outputs, taps, stride, groups = 1;

  int64_t padding() const { return taps / 2; }
  int64_t output_size() const { return (size + 2 * padding() - taps) / stride + 1; }
};

// Repeats a text per spatial dimension, separated by `between`.
std::string Each(const Layer& l, const std::string& one, const char* between) {
  std::string text;
  for (int64_t d = 0; d < l.rank; ++d) text += (d == 0 ? "" : between) + one;
  return text;
}

std::string Name(const Layer& l, Direction direction, ElementType type) {
  const char* words[] = {"", " by input", " by filter"};
  return fmt::format("convolution {} {}x{}{} {}->{}@{}{}", Name(type), l.batch,
                     Each(l, fmt::format("{}", l.taps), "x"),
                     l.stride > 1 ? fmt::format("/{}", l.stride) : "", l.inputs, l.outputs, l.size,
                     words[static_cast<int>(direction)]) +
         (l.groups > 1 ? " depthwise" : "");
}

std::string Text(const Layer& l, Direction direction, ElementType type) {
  const std::string digits = l.rank == 3 ? "012" : "01";
  const auto numbers = [&](int64_t n) { return Each(l, fmt::format("{}", n), ","); };
  const std::string input = fmt::format("{}[{},{},{}]", Name(type), l.batch, numbers(l.size), l.inputs);
  const std::string output =
      fmt::format("{}[{},{},{}]", Name(type), l.batch, numbers(l.output_size()), l.outputs);
  const std::string filter =
      fmt::format("{}[{},{},{}]", Name(type), l.outputs, numbers(l.taps), l.inputs / l.groups);
  const auto entry = [&](const std::string& a, const std::string& b, const std::string& result,
                         const std::string& rest) {
    return fmt::format(
        "ENTRY e {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT r = {} "
        "convolution(a, b), {}\n}}\n",
        a, b, result, rest);
  };
  const int64_t pad = l.padding();
  if (direction == Direction::kForward) {
    const std::string window =
        fmt::format("window={{size={} stride={} pad={}}}", Each(l, fmt::format("{}", l.taps), "x"),
                    Each(l, fmt::format("{}", l.stride), "x"), Each(l, fmt::format("{0}_{0}", pad), "x"));
    return entry(input, filter, output,
                 fmt::format("{}, dim_labels=b{}f_o{}i->b{}f{}", window, digits, digits, digits,
                             l.groups > 1 ? fmt::format(", feature_group_count={}", l.groups) : ""));
  }
  // The remainder of the stride at the high end.
  const int64_t rest = (l.size + 2 * pad - l.taps) % l.stride;
  if (direction == Direction::kInput) {
    const std::string window = fmt::format(
        "window={{size={} pad={} lhs_dilate={} rhs_reversal={}}}", Each(l, fmt::format("{}", l.taps), "x"),
        Each(l, fmt::format("{}_{}", l.taps - 1 - pad, l.taps - 1 - pad + rest), "x"),
        Each(l, fmt::format("{}", l.stride), "x"), Each(l, "1", "x"));
    return entry(output, filter, input,
                 fmt::format("{}, dim_labels=b{}f_i{}o->b{}f", window, digits, digits, digits));
  }
  const std::string window = fmt::format(
      "window={{size={} pad={} rhs_dilate={}}}", Each(l, fmt::format("{}", l.output_size()), "x"),
      Each(l, fmt::format("{}_{}", pad, pad - rest), "x"), Each(l, fmt::format("{}", l.stride), "x"));
  return entry(input, output, filter,
               fmt::format("{}, dim_labels=f{}b_i{}o->f{}b", window, digits, digits, digits));
}

// A layer in cuDNN's terms, features last.
class Dnn {
 public:
  Dnn() { HLO_BENCH_CHECK(cudnnCreate(&handle_)); }
  ~Dnn() { cudnnDestroy(handle_); }

  Run Fastest(const Layer& l, Direction direction, ElementType type, const Arrays& arrays) {
    const cudnnDataType_t data = type == ElementType::kBF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t convolution;
    HLO_BENCH_CHECK(cudnnCreateTensorDescriptor(&x));
    HLO_BENCH_CHECK(cudnnCreateTensorDescriptor(&y));
    HLO_BENCH_CHECK(cudnnCreateFilterDescriptor(&w));
    HLO_BENCH_CHECK(cudnnCreateConvolutionDescriptor(&convolution));
    const auto dims = [&](int64_t first, int64_t second, int64_t size) {
      std::vector<int> list{static_cast<int>(first), static_cast<int>(second)};
      list.insert(list.end(), static_cast<size_t>(l.rank), static_cast<int>(size));
      return list;
    };
    const int rank = static_cast<int>(l.rank) + 2;
    HLO_BENCH_CHECK(cudnnSetTensorNdDescriptorEx(x, CUDNN_TENSOR_NHWC, data, rank,
                                                 dims(l.batch, l.inputs, l.size).data()));
    HLO_BENCH_CHECK(cudnnSetTensorNdDescriptorEx(y, CUDNN_TENSOR_NHWC, data, rank,
                                                 dims(l.batch, l.outputs, l.output_size()).data()));
    HLO_BENCH_CHECK(cudnnSetFilterNdDescriptor(w, data, CUDNN_TENSOR_NHWC, rank,
                                               dims(l.outputs, l.inputs / l.groups, l.taps).data()));
    const std::vector<int> pad(static_cast<size_t>(l.rank), static_cast<int>(l.padding())),
        stride(static_cast<size_t>(l.rank), static_cast<int>(l.stride)),
        dilation(static_cast<size_t>(l.rank), 1);
    HLO_BENCH_CHECK(cudnnSetConvolutionNdDescriptor(convolution, static_cast<int>(l.rank), pad.data(),
                                                    stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
                                                    CUDNN_DATA_FLOAT));
    HLO_BENCH_CHECK(cudnnSetConvolutionGroupCount(convolution, static_cast<int>(l.groups)));
    HLO_BENCH_CHECK(cudnnSetConvolutionMathType(
        convolution, type == ElementType::kF32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    if (direction == Direction::kForward) {
      return Best<cudnnConvolutionFwdAlgoPerf_t>(
          arrays,
          [=, this](int* count, auto* found) {
            return cudnnFindConvolutionForwardAlgorithm(handle_, x, w, convolution, y, 8, count, found);
          },
          [=, this](const Arrays::Set& s, auto algorithm, const float* one, const float* zero) {
            return cudnnConvolutionForward(handle_, one, x, s.operands[0].data(), w, s.operands[1].data(),
                                           convolution, algorithm, workspace_.data(), kWorkspaceBytes, zero,
                                           y, s.theirs.data());
          });
    }
    if (direction == Direction::kInput) {
      return Best<cudnnConvolutionBwdDataAlgoPerf_t>(
          arrays,
          [=, this](int* count, auto* found) {
            return cudnnFindConvolutionBackwardDataAlgorithm(handle_, w, y, convolution, x, 8, count, found);
          },
          [=, this](const Arrays::Set& s, auto algorithm, const float* one, const float* zero) {
            return cudnnConvolutionBackwardData(handle_, one, w, s.operands[1].data(), y,
                                                s.operands[0].data(), convolution, algorithm,
                                                workspace_.data(), kWorkspaceBytes, zero, x, s.theirs.data());
          });
    }
    return Best<cudnnConvolutionBwdFilterAlgoPerf_t>(
        arrays,
        [=, this](int* count, auto* found) {
          return cudnnFindConvolutionBackwardFilterAlgorithm(handle_, x, y, convolution, w, 8, count, found);
        },
        [=, this](const Arrays::Set& s, auto algorithm, const float* one, const float* zero) {
          return cudnnConvolutionBackwardFilter(handle_, one, x, s.operands[0].data(), y,
                                                s.operands[1].data(), convolution, algorithm,
                                                workspace_.data(), kWorkspaceBytes, zero, w, s.theirs.data());
        });
  }

 private:
  static constexpr int64_t kWorkspaceBytes = int64_t{2} << 30;

  // Returns the fastest algorithm that fits into the workspace; empty if there is none.
  template <class Perf, class Find, class Call>
  Run Best(const Arrays& arrays, Find find, Call call) {
    Perf found[8];
    int count = 0;
    if (find(&count, found) != CUDNN_STATUS_SUCCESS) return {};
    for (int i = 0; i < count; ++i) {
      if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].memory > static_cast<size_t>(kWorkspaceBytes))
        continue;
      return [&arrays, call, algorithm = found[i].algo](size_t s) {
        const float one = 1, zero = 0;
        HLO_BENCH_CHECK(call(arrays[s], algorithm, &one, &zero));
      };
    }
    return {};
  }

  cudnnHandle_t handle_ = nullptr;
  DeviceArray workspace_{static_cast<size_t>(kWorkspaceBytes)};
};

std::vector<double> Values(ElementType type, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / static_cast<size_t>(ByteCount(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = type == ElementType::kF32 ? reinterpret_cast<const float*>(bytes.data())[i]
                                          : BF16ToFloat(reinterpret_cast<const uint16_t*>(bytes.data())[i]);
  }
  return values;
}

std::vector<std::byte> Fetch(const void* device, int64_t bytes) {
  std::vector<std::byte> host(static_cast<size_t>(bytes));
  HLO_BENCH_CHECK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
  return host;
}

// Forward: returns the largest error of 64 elements relative to the bound, against sums over all taps in
// double.
double WorstError(const Layer& l, ElementType type, const Arrays& arrays, const void* result,
                  int64_t result_bytes) {
  const std::vector<double> input = Values(type, arrays.host(0)), filter = Values(type, arrays.host(1));
  const std::vector<double> got = Values(type, Fetch(result, result_bytes));
  const int64_t out = l.output_size(), group_inputs = l.inputs / l.groups;
  int64_t positions = 1, taps = 1;
  for (int64_t d = 0; d < l.rank; ++d) {
    positions *= out;
    taps *= l.taps;
  }
  std::mt19937_64 random(5);
  double worst = 0;
  for (int s = 0; s < 64; ++s) {
    const auto place = static_cast<int64_t>(random() % got.size());
    const int64_t z = place % l.outputs, position = place / l.outputs % positions,
                  n = place / l.outputs / positions;
    double sum = 0, magnitude = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t at = n, rest_p = position, rest_t = tap, scale_p = positions, scale_t = taps;
      bool inside = true;
      for (int64_t d = 0; d < l.rank; ++d) {
        scale_p /= out;
        scale_t /= l.taps;
        const int64_t y = rest_p / scale_p * l.stride + rest_t / scale_t - l.padding();
        rest_p %= scale_p;
        rest_t %= scale_t;
        inside &= y >= 0 && y < l.size;
        at = at * l.size + y;
      }
      if (!inside) continue;
      for (int64_t c = 0; c < group_inputs; ++c) {
        const int64_t feature = z / (l.outputs / l.groups) * group_inputs + c;
        const double term = input[at * l.inputs + feature] * filter[(z * taps + tap) * group_inputs + c];
        sum += term;
        magnitude += std::fabs(term);
      }
    }
    const double bound =
        static_cast<double>(std::max<int64_t>(taps * group_inputs, 5)) * 0x1p-24 * magnitude +
        (type == ElementType::kBF16 ? 0x1p-8 * std::fabs(sum) : 0);
    const double error = std::fabs(got[place] - sum);
    worst = std::isnan(error) ? INFINITY : std::max(worst, bound > 0 ? error / bound : error);
  }
  return worst;
}

// Backward: returns the largest difference between the contenders, relative to the tolerance of the largest
// value.
double Difference(ElementType type, const void* ours, const void* theirs, int64_t bytes) {
  const std::vector<double> a = Values(type, Fetch(ours, bytes)), b = Values(type, Fetch(theirs, bytes));
  double difference = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i] - b[i])) return INFINITY;
    difference = std::max(difference, std::fabs(a[i] - b[i]));
    largest = std::max(largest, std::fabs(b[i]));
  }
  return difference / largest / (type == ElementType::kBF16 ? 2e-2 : 1e-3);
}

// Returns true if our result is correct.
bool RunCase(const Layer& l, Direction direction, ElementType type, const device::DeviceProperties& device,
             Dnn& dnn, bool json) {
  const CheckedModule module = ModuleOf(Text(l, direction, type));
  const Instruction& convolution = *module.module().entry()->root();
  const Arrays arrays(convolution);
  const OurKernel ours(convolution, device);
  const Run theirs = dnn.Fastest(l, direction, type, arrays);
  const int64_t bytes = Arrays::DenseBytes(convolution.shape());
  Row row{.name = Name(l, direction, type), .kernel = ours.name()};
  ours.Launch(arrays[0]);
  ours.Launch(arrays[1]);
  if (theirs) theirs(0);
  HLO_BENCH_CHECK(cudaDeviceSynchronize());
  row.same_bits = Fetch(arrays[0].ours.data(), bytes) == Fetch(arrays[1].ours.data(), bytes);
  if (direction == Direction::kForward) {
    row.error = WorstError(l, type, arrays, arrays[0].ours.data(), bytes);
    if (theirs) row.their_error = WorstError(l, type, arrays, arrays[0].theirs.data(), bytes);
  } else if (theirs) {
    row.error = Difference(type, arrays[0].ours.data(), arrays[0].theirs.data(), bytes);
  }
  row.times = Measure([&](size_t s) { ours.Launch(arrays[s]); }, theirs);
  row.operations = 2.0 * static_cast<double>(l.batch * l.outputs * (l.inputs / l.groups)) *
                   std::pow(static_cast<double>(l.output_size() * l.taps), static_cast<double>(l.rank));
  row.bytes = static_cast<double>(arrays.host(0).size() + arrays.host(1).size()) + static_cast<double>(bytes);
  row.limiter = LimiterOf(row.times.ours, row.bytes, row.operations, PeaksOf(device, type));
  return Print(row, json);
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using hlo::bench::Direction;
  const hlo::bench::Options options(argc, argv, "Measures convolutions against cuDNN");
  const hlo::device::DeviceProperties device = hlo::bench::DeviceOrSkip(options);
  std::optional<hlo::bench::Dnn> dnn;
  const hlo::bench::Layer layers[] = {{2, 64, 224, 3, 64, 7, 2},        {2, 64, 56, 64, 256, 1, 1},
                                      {2, 64, 56, 256, 512, 1, 2},      {2, 64, 56, 64, 64, 3, 1},
                                      {2, 64, 28, 128, 128, 3, 1},      {2, 64, 28, 256, 256, 3, 2},
                                      {2, 64, 7, 512, 512, 3, 1},       {2, 64, 28, 72, 200, 5, 1},
                                      {2, 64, 56, 256, 256, 3, 1, 256}, {3, 8, 32, 64, 64, 3, 1}};
  bool right = true;
  for (const hlo::ElementType type : {hlo::ElementType::kF32, hlo::ElementType::kBF16}) {
    for (const hlo::bench::Layer& layer : layers) {
      for (const Direction direction : {Direction::kForward, Direction::kInput, Direction::kFilter}) {
        if (layer.groups > 1 && direction != Direction::kForward) continue;
        if (!options.IsSelected(hlo::bench::Name(layer, direction, type))) continue;
        if (!dnn.has_value()) dnn.emplace();
        right &= hlo::bench::RunCase(layer, direction, type, device, *dnn, options.json());
      }
    }
  }
  return right ? 0 : 1;
}
