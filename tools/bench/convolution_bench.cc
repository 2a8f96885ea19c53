// Benchmarks convolutions against oneDNN, if it was found, interleaved in one run. Every result is first
// compared with sums in f64. Prints GFLOP/s, the fraction of the machine's peak, and ratios.
//   convolution_bench [--seconds=S] [--threads=N]

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cpu/convolution/convolution.h"
#include "timing.h"
#include "types/index.h"
#if defined(HLO_BENCH_ONEDNN)
#include "dnnl.hpp"
#endif

namespace hlo::bench {
namespace {

// Square images; features first ("bf01_oi01->bf01") or last ("b01f_01io->b01f").
struct Case {
  const char* name;
  int64_t batch, size, inputs, outputs, window, stride, padding;
  int64_t groups = 1;
  bool features_first = false;
  bool is_bf16 = false;
};

constexpr Case kCases[] = {
    {"resnet 7x7/2 3->64", 1, 224, 3, 64, 7, 2, 3},
    {"resnet 1x1 64->256", 1, 56, 64, 256, 1, 1, 0},
    {"resnet 3x3 64->64", 1, 56, 64, 64, 3, 1, 1},
    {"resnet 1x1/2 256->512", 1, 56, 256, 512, 1, 2, 0},
    {"resnet 3x3 128->128", 1, 28, 128, 128, 3, 1, 1},
    {"resnet 3x3 256->256", 1, 14, 256, 256, 3, 1, 1},
    {"resnet 3x3 512->512", 1, 7, 512, 512, 3, 1, 1},
    {"resnet 3x3 64->64, features first", 1, 56, 64, 64, 3, 1, 1, 1, true},
    {"depthwise 3x3 256, features first", 1, 56, 256, 256, 3, 1, 1, 256, true},
    {"depthwise 3x3 256, features first, bf16", 1, 56, 256, 256, 3, 1, 1, 256, true, true},
    {"depthwise 3x3 256, features last", 1, 56, 256, 256, 3, 1, 1, 256},
    {"depthwise 3x3/2 256, features first", 1, 56, 256, 256, 3, 2, 1, 256, true},
};

template <class T>
T Make(double x) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return T::FromDouble(x);
  else
    return static_cast<T>(x);
}
template <class T>
double Value(T x) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return x.ToFloat();
  else
    return x;
}

template <class T>
void Run(const Case& c, double seconds, double peak) {
  const bool first = c.features_first;
  const int64_t out_size = (c.size + 2 * c.padding - c.window) / c.stride + 1,
                group_inputs = c.inputs / c.groups;
  const auto image = [&](int64_t features, int64_t size) {
    return first ? std::vector<int64_t>{c.batch, features, size, size}
                 : std::vector<int64_t>{c.batch, size, size, features};
  };
  const std::vector<int64_t> in_dims = image(c.inputs, c.size), out_dims = image(c.outputs, out_size);
  const std::vector<int64_t> kernel_dims =
      first ? std::vector<int64_t>{c.outputs, group_inputs, c.window, c.window}
            : std::vector<int64_t>{c.window, c.window, group_inputs, c.outputs};
  std::vector<T> input(Product(in_dims)), kernel(Product(kernel_dims)), out(Product(out_dims));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : input) x = Make<T>(uniform(random));
  for (T& x : kernel) x = Make<T>(uniform(random));
  const std::vector<int64_t> spatial = first ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{1, 2},
                             kernel_spatial = first ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{0, 1};
  DimLabels labels;
  labels.input_batch = labels.output_batch = 0;
  labels.input_feature = labels.output_feature = first ? 1 : 3;
  labels.input_spatial = labels.output_spatial = spatial;
  labels.kernel_spatial = kernel_spatial;
  labels.kernel_input_feature = first ? 1 : 2;
  labels.kernel_output_feature = first ? 0 : 3;
  const WindowDim w{
      .size = c.window, .stride = c.stride, .padding_low = c.padding, .padding_high = c.padding};
  const std::vector<WindowDim> window = {w, w};
  const ElementType type = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kBF16;
  const auto ours = [&] {
    const absl::Status status =
        cpu::Convolution({input.data(), type, in_dims}, {kernel.data(), type, kernel_dims},
                         {window, &labels, c.groups, 1}, out.data(), type, out_dims);
    if (!status.ok()) std::abort();
  };
  ours();
  // Compares some elements with their sums.
  const Index is = RowMajorStrides(in_dims), ks = RowMajorStrides(kernel_dims),
              os = RowMajorStrides(out_dims);
  const double terms = static_cast<double>(c.window * c.window * group_inputs);
  for (int64_t s = 0; s < 300; ++s) {
    const int64_t y = s * 31 % out_size, x = s * 17 % out_size, z = s * 13 % c.outputs;
    double sum = 0, size = 0;
    for (int64_t i = 0; i < c.window; ++i) {
      for (int64_t j = 0; j < c.window; ++j) {
        const int64_t p = y * c.stride + i - c.padding, q = x * c.stride + j - c.padding;
        if (p < 0 || q < 0 || p >= c.size || q >= c.size) continue;
        for (int64_t r = 0; r < group_inputs; ++r) {
          const int64_t feature = z / (c.outputs / c.groups) * group_inputs + r;
          const double a =
              Value(input[p * is[spatial[0]] + q * is[spatial[1]] + feature * is[labels.input_feature]]);
          const double b =
              Value(kernel[i * ks[kernel_spatial[0]] + j * ks[kernel_spatial[1]] +
                           r * ks[labels.kernel_input_feature] + z * ks[labels.kernel_output_feature]]);
          sum += a * b;
          size += std::fabs(a * b);
        }
      }
    }
    const double got = Value(out[y * os[spatial[0]] + x * os[spatial[1]] + z * os[labels.output_feature]]);
    const double rounding = std::is_same_v<T, bfloat16> ? std::fabs(sum) * 0x1p-8 : 0;
    if (!(std::fabs(got - sum) <= terms * 0x1p-24 * size + rounding + 1e-30)) {
      fmt::print("{}: WRONG RESULT\n", c.name);
      std::exit(1);
    }
  }
  std::vector<std::function<void()>> contenders = {ours};
#if defined(HLO_BENCH_ONEDNN)
  using namespace dnnl;
  engine cpu_engine(engine::kind::cpu, 0);
  stream cpu_stream(cpu_engine);
  const auto data_type = type == ElementType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
  const auto tag = first ? memory::format_tag::nchw : memory::format_tag::nhwc;
  const auto kernel_tag = c.groups > 1 ? (first ? memory::format_tag::goihw : memory::format_tag::hwigo)
                                       : (first ? memory::format_tag::oihw : memory::format_tag::hwio);
  const memory::dims kernel_sizes =
      c.groups > 1 ? memory::dims{c.groups, c.outputs / c.groups, group_inputs, c.window, c.window}
                   : memory::dims{c.outputs, group_inputs, c.window, c.window};
  const memory::desc in_desc({c.batch, c.inputs, c.size, c.size}, data_type, tag),
      out_desc({c.batch, c.outputs, out_size, out_size}, data_type, tag),
      kernel_desc(kernel_sizes, data_type, kernel_tag);
  std::vector<T> other(out.size());
  memory in_memory(in_desc, cpu_engine, input.data()), kernel_memory(kernel_desc, cpu_engine, kernel.data()),
      out_memory(out_desc, cpu_engine, other.data());
  // The primitive is created once, outside the measurement.
  std::unique_ptr<convolution_forward> primitive;
  try {
    const convolution_forward::desc desc(prop_kind::forward_inference, algorithm::convolution_direct, in_desc,
                                         kernel_desc, out_desc, {c.stride, c.stride}, {c.padding, c.padding},
                                         {c.padding, c.padding});
    primitive = std::make_unique<convolution_forward>(convolution_forward::primitive_desc(desc, cpu_engine));
  } catch (const dnnl::error&) {
    fmt::print("(no oneDNN) ");
  }
  if (primitive) {
    contenders.push_back([&] {
      primitive->execute(
          cpu_stream,
          {{DNNL_ARG_SRC, in_memory}, {DNNL_ARG_WEIGHTS, kernel_memory}, {DNNL_ARG_DST, out_memory}});
      cpu_stream.wait();
    });
  }
#endif
  const std::vector<double> fastest = FastestInTurns(contenders, seconds);
  const double flops = 2.0 * terms * static_cast<double>(out.size());
  fmt::print("{:40} ours {:8.3f} ms {:7.1f} GFLOP/s {:3.0f}% of peak", c.name, fastest[0] * 1e3,
             flops / fastest[0] * 1e-9, 100 * flops / fastest[0] / peak);
  if (fastest.size() > 1)
    fmt::print("  oneDNN {:8.3f} ms ratio {:4.2f}", fastest[1] * 1e3, fastest[1] / fastest[0]);
  fmt::print("\n");
}

int Main(int argc, char** argv) {
  const double seconds = ReadOptions(argc, argv).seconds;
  const double peak = PeakFlops<float>();
  fmt::print("{} threads, vectors of {} bytes, peak {:.0f} GFLOP/s in f32\n", ThreadCount(),
             cpu::kVectorBytes, peak * 1e-9);
  for (const Case& c : kCases) {
    if (c.is_bf16)
      Run<bfloat16>(c, seconds, peak);
    else
      Run<float>(c, seconds, peak);
  }
  return 0;
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) { return hlo::bench::Main(argc, argv); }
