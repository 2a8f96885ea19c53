#pragma once
// This file compiles loop programs to native code (x86-64 with AVX2 or AVX-512): one loop whose values stay
// in vector registers.
//
// A vector iteration computes as many consecutive elements as a register holds of the widest compute type. It
// reads all elements at its positions before it stores to an argument that a load may alias, and iterations
// run in order. A program may overwrite elements that it loads only at the same position
// (LoopProgram::LastUse), so that the results are those of tile programs. Accesses that are not contiguous
// are gathered before the code runs, and scattered after it, a tile at a time.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cpu/native/machine_code.h"
#include "loops/loop_program.h"

namespace hlo::cpu {

class NativeLoop {
 public:
  // The elements that a load reads through a pointer: contiguous ones, the same one at all positions, or an
  // iota that starts with the element.
  enum class Form : uint8_t { kArray, kScalar, kCount };
  struct Input {
    loops::Value value;
    Form form;
    ElementType type;  // Stored as lanes, bf16 or f16.
    bool reloads;      // True if no store overwrites the elements, so that they may be read again later.
  };
  struct Output {
    loops::Value value;
    ElementType type;  // Stored as lanes, bf16 or f16.
    bool early;        // True if the value may be stored as soon as it is computed.
  };

  // Returns true if inputs and outputs may have this type.
  static bool Supports(ElementType type);
  // Returns the type of elements that are stored as such lanes.
  static ElementType TypeOf(loops::ComputeType compute_type);
  // Returns nullptr if the machine or an operation is not supported. The program is only read during the
  // call.
  static std::unique_ptr<const NativeLoop> Compile(const loops::LoopProgram& program,
                                                   const std::vector<Input>& inputs,
                                                   const std::vector<Output>& outputs);
  // Computes n elements. The pointers are those of the inputs, then those of the outputs.
  void Run(void* const* pointers, int64_t n) const { function_(pointers, n, 1, nullptr); }
  // Computes `rows` > 0 rows of n elements. The pointers are those of the first row, and change; each moves
  // by its distance, in bytes, from row to row.
  void RunRows(void** pointers, int64_t n, int64_t rows, const int64_t* distances) const {
    function_(pointers, n, rows, distances);
  }

 private:
  // The code changes the pointers only if there are several rows.
  using Function = void(void* const* pointers, int64_t n, int64_t rows, const int64_t* distances);
  explicit NativeLoop(std::unique_ptr<const MachineCode> code)
      : code_(std::move(code)), function_(code_->At<Function>()) {}

  std::unique_ptr<const MachineCode> code_;
  Function* function_;
};

// The native code of a program that is compiled during its runs, which may be in several threads.
class LazyNativeLoop {
 public:
  // Adds the expected time of a run without native code. Compiles the program, in one of the threads, once
  // the sum exceeds the delay (SetNativeCodeDelay).
  void Prepare(double nanoseconds, absl::FunctionRef<std::unique_ptr<const NativeLoop>()> compile);
  // Returns nullptr if there is no native code, or none yet.
  const NativeLoop* get() const { return is_ready_.load(std::memory_order_acquire) ? code_.get() : nullptr; }

 private:
  std::unique_ptr<const NativeLoop> code_;
  std::atomic<int64_t> nanoseconds_ = 0;  // The sum of the expected times.
  std::atomic<bool> started_ = false, is_ready_ = false;
};

// Sets the expected time after which programs are compiled to native code; the default is about the time that
// compilation takes. This is for tests: 0 also compiles small programs. Returns the one before.
int64_t SetNativeCodeDelay(int64_t nanoseconds);
int64_t NativeCodeDelay();

}  // namespace hlo::cpu
