#pragma once
// A module as a list of lines that can be edited and printed again; used to shrink and to rewrite modules.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::fuzz {

// Returns the element type of an array's shape, as text.
inline std::string TypeOf(const std::string& shape) { return shape.substr(0, shape.find('[')); }

// An instruction.
struct DraftLine {
  std::string name, shape, opcode;
  std::vector<std::string> operands;
  std::string inside;      // Text in the parentheses of parameters and constants.
  std::string attributes;  // Including the leading comma.
  int64_t parameter = -1;
  bool is_root = false;

  std::string Text() const;
};
struct DraftComputation {
  std::string name;
  bool is_entry = false;
  std::vector<DraftLine> lines;

  DraftLine* Find(std::string_view line);
  DraftLine& root();
};
struct Draft {
  std::string name;
  std::vector<DraftComputation> computations;

  explicit Draft(const Module& module);
  // Returns the module without dead instructions, uncalled computations and unused parameters of the entry.
  // With `keeps_dead`, keeps all instructions.
  std::string Text(bool keeps_dead = false) const;
  DraftComputation& entry();
  DraftComputation* Find(std::string_view computation);
  // Returns an unused name.
  std::string NewName(std::string_view stem);

 private:
  int64_t names_ = 0;
};

// Replaces numbers in brackets or braces, or after "x", "_" or ":" there, such as dimensions; values of
// constants are unchanged. Returns the new text.
std::string MapNumbers(std::string_view text, const std::map<int64_t, int64_t>& change);
// Returns all such numbers.
std::set<int64_t> NumbersOf(std::string_view text);

}  // namespace hlo::fuzz
