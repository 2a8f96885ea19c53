// Benchmarks convolutions against oneDNN, if it was found, interleaved in one run. Every result is first
// compared with sums in f64. Prints GFLOP/s, the fraction of the machine's peak, and ratios.
//   convolution_bench [--seconds=S] [--threads=N]

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
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

// A convolution with random arrays.
template <class T>
struct Problem {
  explicit Problem(const Case& chosen);

  int64_t out_size() const { return (c.size + 2 * c.padding - c.window) / c.stride + 1; }
  int64_t group_inputs() const { return c.inputs / c.groups; }
  double terms() const { return static_cast<double>(c.window * c.window * group_inputs()); }
  double flops() const { return 2 * terms() * static_cast<double>(out.size()); }
  void Run();
  // Ends the program if one of 300 elements of the result is wrong.
  void Check() const;
  // Returns the sum of the products for an element of the result, and that of their magnitudes.
  std::pair<double, double> SumsAt(int64_t y, int64_t x, int64_t z) const;

  static constexpr ElementType kType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kBF16;
  const Case c;
  std::vector<int64_t> in_dims, kernel_dims, out_dims;
  DimLabels labels;
  std::vector<int64_t> spatial, kernel_spatial;  // The dimensions that `labels` refers to.
  std::vector<T> input, kernel, out;
};

template <class T>
Problem<T>::Problem(const Case& chosen) : c(chosen) {
  const bool first = c.features_first;
  const auto image = [&](int64_t features, int64_t size) {
    return first ? std::vector<int64_t>{c.batch, features, size, size}
                 : std::vector<int64_t>{c.batch, size, size, features};
  };
  in_dims = image(c.inputs, c.size);
  out_dims = image(c.outputs, out_size());
  kernel_dims = first ? std::vector<int64_t>{c.outputs, group_inputs(), c.window, c.window}
                      : std::vector<int64_t>{c.window, c.window, group_inputs(), c.outputs};
  spatial = first ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{1, 2};
  kernel_spatial = first ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{0, 1};
  labels.input_batch = labels.output_batch = 0;
  labels.input_feature = labels.output_feature = first ? 1 : 3;
  labels.input_spatial = labels.output_spatial = spatial;
  labels.kernel_spatial = kernel_spatial;
  labels.kernel_input_feature = first ? 1 : 2;
  labels.kernel_output_feature = first ? 0 : 3;
  input.resize(Product(in_dims));
  kernel.resize(Product(kernel_dims));
  out.resize(Product(out_dims));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : input) x = Make<T>(uniform(random));
  for (T& x : kernel) x = Make<T>(uniform(random));
}

template <class T>
void Problem<T>::Run() {
  const WindowDim w{
      .size = c.window, .stride = c.stride, .padding_low = c.padding, .padding_high = c.padding};
  const std::vector<WindowDim> window = {w, w};
  const absl::Status status =
      cpu::Convolution({input.data(), kType, in_dims}, {kernel.data(), kType, kernel_dims},
                       {window, &labels, c.groups, 1}, out.data(), kType, out_dims);
  if (!status.ok()) std::abort();
}

template <class T>
std::pair<double, double> Problem<T>::SumsAt(int64_t y, int64_t x, int64_t z) const {
  const Index is = RowMajorStrides(in_dims), ks = RowMajorStrides(kernel_dims);
  double sum = 0, size = 0;
  for (int64_t i = 0; i < c.window; ++i) {
    for (int64_t j = 0; j < c.window; ++j) {
      const int64_t p = y * c.stride + i - c.padding, q = x * c.stride + j - c.padding;
      if (p < 0 || q < 0 || p >= c.size || q >= c.size) continue;
      for (int64_t r = 0; r < group_inputs(); ++r) {
        const int64_t feature = z / (c.outputs / c.groups) * group_inputs() + r;
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
  return {sum, size};
}

template <class T>
void Problem<T>::Check() const {
  const Index os = RowMajorStrides(out_dims);
  for (int64_t s = 0; s < 300; ++s) {
    const int64_t y = s * 31 % out_size(), x = s * 17 % out_size(), z = s * 13 % c.outputs;
    const auto [sum, size] = SumsAt(y, x, z);
    const double got = Value(out[y * os[spatial[0]] + x * os[spatial[1]] + z * os[labels.output_feature]]);
    const double rounding = std::is_same_v<T, bfloat16> ? std::fabs(sum) * 0x1p-8 : 0;
    if (std::fabs(got - sum) <= terms() * 0x1p-24 * size + rounding + 1e-30) continue;
    fmt::print("{}: WRONG RESULT\n", c.name);
    std::exit(1);
  }
}

#if defined(HLO_BENCH_ONEDNN)
// The same convolution by oneDNN. The primitive is created once, outside the measurement.
template <class T>
class OneDnn {
 public:
  explicit OneDnn(Problem<T>& problem) : other_(problem.out.size()) {
    using namespace dnnl;
    const Case& c = problem.c;
    const bool first = c.features_first;
    const int64_t group_inputs = problem.group_inputs(), out_size = problem.out_size();
    const auto type =
        Problem<T>::kType == ElementType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
    const auto tag = first ? memory::format_tag::nchw : memory::format_tag::nhwc;
    const auto kernel_tag = c.groups > 1 ? (first ? memory::format_tag::goihw : memory::format_tag::hwigo)
                                         : (first ? memory::format_tag::oihw : memory::format_tag::hwio);
    const memory::dims kernel_sizes =
        c.groups > 1 ? memory::dims{c.groups, c.outputs / c.groups, group_inputs, c.window, c.window}
                     : memory::dims{c.outputs, group_inputs, c.window, c.window};
    const memory::desc in_desc({c.batch, c.inputs, c.size, c.size}, type, tag),
        out_desc({c.batch, c.outputs, out_size, out_size}, type, tag),
        kernel_desc(kernel_sizes, type, kernel_tag);
    arguments_ = {{DNNL_ARG_SRC, memory(in_desc, engine_, problem.input.data())},
                  {DNNL_ARG_WEIGHTS, memory(kernel_desc, engine_, problem.kernel.data())},
                  {DNNL_ARG_DST, memory(out_desc, engine_, other_.data())}};
    try {
      const convolution_forward::desc desc(prop_kind::forward_inference, algorithm::convolution_direct,
                                           in_desc, kernel_desc, out_desc, {c.stride, c.stride},
                                           {c.padding, c.padding}, {c.padding, c.padding});
      primitive_ = std::make_unique<convolution_forward>(convolution_forward::primitive_desc(desc, engine_));
    } catch (const dnnl::error&) {
      fmt::print("(no oneDNN) ");
    }
  }

  bool has_primitive() const { return primitive_ != nullptr; }
  void Run() {
    primitive_->execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<T> other_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::unique_ptr<dnnl::convolution_forward> primitive_;
};
#endif

template <class T>
void Run(const Case& c, double seconds, double peak) {
  Problem<T> problem(c);
  problem.Run();
  problem.Check();
  std::vector<std::function<void()>> contenders = {[&] { problem.Run(); }};
#if defined(HLO_BENCH_ONEDNN)
  OneDnn<T> one_dnn(problem);
  if (one_dnn.has_primitive()) contenders.push_back([&] { one_dnn.Run(); });
#endif
  const std::vector<double> fastest = FastestInterleaved(contenders, seconds);
  const double flops = problem.flops();
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
