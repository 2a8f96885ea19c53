#pragma once
// This file decodes bytecode for verifiers: the operands, results and meaning of each instruction. It shares
// no code with the compiler and the interpreter.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cpu/bytecode/bytecode.h"

namespace hlo::cpu {

// Gives access to the tables of a Bytecode, for verifiers, and for tests that modify them.
struct BytecodeParts {
  static std::vector<Bytecode::Op>& Ops(Bytecode& code) { return code.ops_; }
  static std::vector<Bytecode::Tile>& Tiles(Bytecode& code) { return code.tiles_; }
  static std::vector<Bytecode::Range>& Ranges(Bytecode& code) { return code.ranges_; }
  static std::vector<Bytecode::MemoryCall>& MemoryCalls(Bytecode& code) { return code.memory_calls_; }
  static std::vector<std::vector<Bytecode::Label>>& Tables(Bytecode& code) { return code.tables_; }
  static std::vector<int64_t>& Targets(Bytecode& code) { return code.targets_; }
  // Must be called after operations have changed.
  static void ChooseHandlers(Bytecode& code) { code.ChooseHandlers(); }

  static const std::vector<Bytecode::Op>& Ops(const Bytecode& code) { return code.ops_; }
  static const std::vector<Bytecode::Tile>& Tiles(const Bytecode& code) { return code.tiles_; }
  static const std::vector<Bytecode::Product>& Products(const Bytecode& code) { return code.products_; }
  static const std::vector<Bytecode::Range>& Ranges(const Bytecode& code) { return code.ranges_; }
  static const std::vector<Bytecode::MemoryCall>& MemoryCalls(const Bytecode& code) {
    return code.memory_calls_;
  }
  static const std::vector<std::vector<Bytecode::Label>>& Tables(const Bytecode& code) {
    return code.tables_;
  }
  static const std::vector<int64_t>& Targets(const Bytecode& code) { return code.targets_; }
};

struct DecodedOp {
  enum class Kind : uint8_t {
    kInvalid,         // `name` is the reason.
    kApply,           // out = call(in...) for `count` elements.
    kCopy,            // out = in[0]
    kDot,             // out = in[0] * in[1]: `dot`, or a dot product of two vectors of in[0].bytes.
    kAddress,         // out = (adds ? out : 0) + clamp(in[0], 0, max) * stride
    kCheckedAddress,  // The same unclamped; jumps to targets[0] if in[0] is outside [0, max].
    kLoad,            // out = bytes of an argument.
    kStore,           // Bytes of an argument = in[0].
    kMemoryCall,
    kEscape,
    kRepeat,      // Jumps to targets[0] if in[0] is true.
    kJump,        // Jumps to targets[0].
    kJumpUnless,  // Jumps to targets[0] if in[0] is false.
    kJumpTo,      // Jumps to targets[in[0]].
    kEnd,
  };
  // A range of bytes in the frame; empty if unused.
  struct FrameRange {
    FrameOffset offset = 0;
    int64_t bytes = 0;
  };
  Kind kind = Kind::kInvalid;
  std::string_view name;
  FrameRange out, in[3];
  TileCall call;
  int64_t count = 1;
  bool is_native = false;  // A native operation; the call's parameter is not used.
  bool is_apart = false;   // No operand may alias the result.
  ElementType type{};      // The type of an address's index or of a dot.
  bool adds = false;
  int64_t max = 0, stride = 0;
  int32_t argument = -1;
  int64_t offset = 0;
  FrameRange address;  // For loads and stores.
  const Bytecode::MemoryCall* memory_call = nullptr;
  const SmallDot* dot = nullptr;
  int64_t escape = -1;
  std::vector<int64_t> targets;  // Indices of operations.
};

// The code must be finished.
DecodedOp Decode(const Bytecode& code, int64_t number);

// Returns true if the function has a native operation, so that all calls of it are equivalent.
bool HasNativeOperation(TileFn function);
// IsCopyTile returns true for copies of elements, IsSplatTile for broadcasts of one element.
bool IsCopyTile(TileFn function);
bool IsSplatTile(TileFn function);

}  // namespace hlo::cpu
