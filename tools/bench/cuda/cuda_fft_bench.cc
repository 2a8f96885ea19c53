// Benchmarks Fourier transforms against cuFFT: the time per run without planning, and the error against sums
// in long double.

#include <cufft.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "programs.h"

namespace hlo::bench {
namespace {

struct FftCase {
  const char* type;  // FFT, RFFT or IRFFT.
  bool is_double;
  std::vector<int64_t> dims;  // Batch first; dimensions of the longer side.
};

std::string Dims(const std::vector<int64_t>& dims, size_t from = 0) {
  std::string text;
  for (size_t d = from; d < dims.size(); ++d) text += (d > from ? "," : "") + std::to_string(dims[d]);
  return text;
}

int64_t Product(const std::vector<int64_t>& dims, size_t from = 0) {
  int64_t product = 1;
  for (size_t d = from; d < dims.size(); ++d) product *= dims[d];
  return product;
}

void RequireFft(cufftResult result, const char* doing) {
  if (result == CUFFT_SUCCESS) return;
  std::fprintf(stderr, "%s: cuFFT's error %d\n", doing, static_cast<int>(result));
  std::exit(1);
}

struct Sides {
  std::vector<int64_t> in, out;
  std::string text;
  Sides(const FftCase& c) {
    std::vector<int64_t> bins = c.dims;
    bins.back() = bins.back() / 2 + 1;
    const std::string type = c.type;
    in = type == "IRFFT" ? bins : c.dims;
    out = type == "RFFT" ? bins : c.dims;
    const std::string real = c.is_double ? "f64" : "f32", complex = c.is_double ? "c128" : "c64";
    text = "ENTRY e { x = " + (type == "RFFT" ? real : complex) + "[" + Dims(in) +
           "] parameter(0)\n ROOT r = " + (type == "IRFFT" ? real : complex) + "[" + Dims(out) +
           "] fft(x), fft_type=" + type + ", fft_length={" + Dims(c.dims, 1) + "} }";
  }
};

// Returns the L2 error of a few bins of the first line relative to the bound, for forward complex transforms
// of one axis.
template <class T>
double ErrorOf(const FftCase& c, const std::vector<T>& in, const std::vector<T>& out) {
  const int64_t n = c.dims[1];
  const bool real = c.type == std::string("RFFT");
  long double error = 0, norm = 0;
  std::mt19937_64 random(5);
  for (int i = 0; i < 64; ++i) {
    const auto k = static_cast<int64_t>(random() % static_cast<uint64_t>(real ? n / 2 + 1 : n));
    std::complex<long double> sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const long double angle = -2 * std::numbers::pi_v<long double> *
                                static_cast<long double>(static_cast<__int128>(j) * k % n) / n;
      const std::complex<long double> x =
          real ? std::complex<long double>(in[j]) : std::complex<long double>(in[2 * j], in[2 * j + 1]);
      sum += x * std::polar(1.0L, angle);
    }
    error += std::norm(std::complex<long double>(out[2 * k], out[2 * k + 1]) - sum);
    norm += std::norm(sum);
  }
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  return static_cast<double>(std::sqrt(error / norm)) / (4 * unit * std::log2(static_cast<double>(n)));
}

// Returns the difference between our result and the library's, relative to the sum of both error bounds.
template <class T>
double DifferenceOf(const FftCase& c, const std::vector<T>& ours, const std::vector<T>& library) {
  long double error = 0, norm = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const long double difference = static_cast<long double>(ours[i]) - library[i];
    error += difference * difference;
    norm += static_cast<long double>(library[i]) * library[i];
  }
  const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  return static_cast<double>(std::sqrt(error / norm)) /
         (2 * 4 * unit * std::log2(static_cast<double>(Product(c.dims, 1))));
}

cufftHandle LibraryPlan(const FftCase& c, const Sides& sides, cudaStream_t stream) {
  std::vector<int> length(c.dims.begin() + 1, c.dims.end()), in(sides.in.begin() + 1, sides.in.end()),
      out(sides.out.begin() + 1, sides.out.end());
  const std::string type = c.type;
  const cufftType kind = type == "FFT"    ? (c.is_double ? CUFFT_Z2Z : CUFFT_C2C)
                         : type == "RFFT" ? (c.is_double ? CUFFT_D2Z : CUFFT_R2C)
                                          : (c.is_double ? CUFFT_Z2D : CUFFT_C2R);
  cufftHandle plan;
  RequireFft(cufftPlanMany(&plan, static_cast<int>(length.size()), length.data(), in.data(), 1,
                           static_cast<int>(Product(sides.in, 1)), out.data(), 1,
                           static_cast<int>(Product(sides.out, 1)), kind, static_cast<int>(c.dims[0])),
             "cufftPlanMany");
  RequireFft(cufftSetStream(plan, stream), "cufftSetStream");
  return plan;
}

void RunLibrary(const FftCase& c, cufftHandle plan, void* in, void* out) {
  const std::string type = c.type;
  cufftResult result;
  if (type == "FFT" && c.is_double)
    result = cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleComplex*>(out),
                          CUFFT_FORWARD);
  else if (type == "FFT")
    result =
        cufftExecC2C(plan, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out), CUFFT_FORWARD);
  else if (type == "RFFT" && c.is_double)
    result = cufftExecD2Z(plan, static_cast<cufftDoubleReal*>(in), static_cast<cufftDoubleComplex*>(out));
  else if (type == "RFFT")
    result = cufftExecR2C(plan, static_cast<cufftReal*>(in), static_cast<cufftComplex*>(out));
  else if (c.is_double)
    result = cufftExecZ2D(plan, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleReal*>(out));
  else
    result = cufftExecC2R(plan, static_cast<cufftComplex*>(in), static_cast<cufftReal*>(out));
  RequireFft(result, "cufftExec");
}

template <class T>
void RunCase(const FftCase& c, const device::DeviceProperties& device, Table& table, cudaStream_t stream) {
  const Sides sides(c);
  const std::string type = c.type;
  Report report{type + (c.is_double ? " f64 " : " f32 ") + Dims(c.dims), "", "cufft"};
  if (!table.IsSelected(report.name)) return;
  const CheckedModule checked = ModuleOf(sides.text);
  BoundKernel kernel = KernelOf(checked, device);
  const std::vector<T> in = Normals<T>(Product(sides.in) * (type == "RFFT" ? 1 : 2), 1);
  const size_t out_bytes = static_cast<size_t>(Product(sides.out)) * (type == "IRFFT" ? 1 : 2) * sizeof(T);
  std::vector<ArraySet> sets =
      MakeSets({BytesOf(in), BytesOf(in)}, {out_bytes});  // The library may overwrite its operand.
  const cufftHandle plan = LibraryPlan(c, sides, stream);
  const auto set = [&](size_t i) -> ArraySet& { return sets[i % sets.size()]; };
  report.kernel = kernel.name();
  report.bytes = static_cast<double>(in.size() * sizeof(T) + out_bytes);
  // The usual count: 5 n log2 n for a complex transform of n points, half of it for a real one.
  const auto points = static_cast<double>(Product(c.dims));
  report.operations = (type == "FFT" ? 5 : 2.5) * points * std::log2(points / static_cast<double>(c.dims[0]));
  report.type = c.is_double ? ElementType::kF64 : ElementType::kF32;
  report.same_bits = GivesSameBitsTwice(kernel, sets[0], stream);
  const auto run_library = [&](size_t i) {
    RunLibrary(c, plan, set(i).operands[1].data(), set(i).library_results[0].data());
  };
  if (type != "IRFFT" && c.dims.size() == 2) {
    report.error_of_bound = ErrorOf<T>(c, in, sets[0].results[0].Get<T>());
  } else {
    run_library(0);
    Require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    report.error_of_bound = DifferenceOf(c, sets[0].results[0].Get<T>(), sets[0].library_results[0].Get<T>());
  }
  table.Add(report, TimeInterleaved({[&](size_t i) { kernel.Run(set(i), stream); }, run_library}, stream));
  cufftDestroy(plan);
}

}  // namespace
}  // namespace hlo::bench

int main(int argc, char** argv) {
  using namespace hlo::bench;
  const Options options(argc, argv, "Measures Fourier transforms against cuFFT");
  const hlo::device::DeviceProperties device = DeviceOrSkip(options);
  cudaStream_t stream = nullptr;
  if (!options.list()) Require(cudaStreamCreate(&stream), "cudaStreamCreate");
  Table table(options, device, CopyCeiling(options, stream));
  for (const bool is_double : {false, true}) {
    for (const char* type : {"FFT", "RFFT", "IRFFT"}) {
      const int64_t points = int64_t{1} << (is_double ? 25 : 26);
      std::vector<FftCase> cases;
      for (int64_t n : {64, 256, 1024, 2048, 4096, 8192, 16384})
        cases.push_back({type, is_double, {points / n, n}});
      for (int64_t n : {1 << 20, 1 << 24}) cases.push_back({type, is_double, {(int64_t{1} << 24) / n, n}});
      for (int64_t n : {19683, 1000, 1009, 65537})
        cases.push_back({type, is_double, {(int64_t{1} << 22) / n, n}});
      cases.push_back({type, is_double, {1, 4096, 4096}});
      cases.push_back({type, is_double, {1, 256, 256, 256}});
      for (const FftCase& c : cases)
        is_double ? RunCase<double>(c, device, table, stream) : RunCase<float>(c, device, table, stream);
    }
  }
  return table.status();
}
