#pragma once
// This file finds loops whose scalars stay in registers. Only code generators include it, if
// HLO_RUN_HAS_NATIVE_CODE is defined.

#include <cstdint>
#include <vector>

#include "kernels/cpu/bytecode/frame_cache.h"
#include "kernels/cpu/bytecode/micro_ops.h"

namespace hlo::cpu {

// The innermost loops in which the host does not run, and their pins.
class NativeRegions {
 public:
  explicit NativeRegions(const MicroCode& code);

  bool AreInOneRegion(int32_t a, int32_t b) const { return region_of_[a] == region_of_[b]; }
  // Returns true if a region begins with the block.
  bool StartsAt(int32_t block) const {
    return region_of_[block] >= 0 && regions_[region_of_[block]].first == block;
  }
  // Returns the number of the loop of the block's region; -1: none.
  int32_t LoopOf(int32_t block) const {
    return region_of_[block] < 0 ? -1 : regions_[region_of_[block]].loop;
  }
  // Returns the pins of the block's region, or none.
  const std::vector<Pin>& PinsOf(int32_t block) const;

 private:
  // Blocks [first, last].
  struct Region {
    int32_t first, last, loop;
    std::vector<Pin> pins;
  };
  // A scalar of a region.
  struct Candidate {
    FrameScalar scalar;
    int uses = 0, in_vectors = 0;
    bool is_written = false, is_excluded = false, is_live = false;
  };
  // The scalars of a region, and the bytes that it accesses in memory.
  struct Accesses {
    std::vector<Candidate> candidates;
    std::vector<Bytecode::Bytes> in_memory;
    bool calls = false, escapes = false;
    void Add(const FrameScalar& scalar, const OperandKind& kind, bool is_written);
  };

  Accesses AccessesOf(const Region& region) const;
  // Erases scalars that cannot stay in a register, or that have no value outside of an iteration.
  void EraseUnsuitable(const Region& region, Accesses& accesses) const;
  std::vector<Pin> AssignRegisters(Accesses accesses) const;

  const MicroCode& code_;
  std::vector<Region> regions_;
  std::vector<int32_t> region_of_;  // Indexed by block; -1: none.
};

}  // namespace hlo::cpu
