#pragma once
// A module as lines that can be changed and written again; for shrinking modules and for rewriting them.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/module.h"

namespace hlo::fuzz {

struct DraftLine {
  std::string name, shape, opcode;
  std::vector<std::string> operands;
  std::string inside;      // What stands in the parentheses of parameters and constants.
  std::string attributes;  // With the leading comma.
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
  // With `keeps_dead`, all instructions stay.
  std::string Text(bool keeps_dead = false) const;
  DraftComputation& entry();
  DraftComputation* Find(std::string_view computation);
  // Returns a name that is not in use.
  std::string NewName(std::string_view stem);

 private:
  int64_t names_ = 0;
};

// Calls `change` for each number in a text that stands in brackets or braces or after "x", "_" or ":" there,
// as dimensions do; constants' values are left alone. Returns the text with the numbers it gives.
std::string MapNumbers(std::string_view text, const std::map<int64_t, int64_t>& change);
// Returns all such numbers.
std::set<int64_t> NumbersOf(std::string_view text);

}  // namespace hlo::fuzz
