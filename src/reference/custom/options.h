#pragma once
// What does a custom call's configuration say? It is written as JSON, as a dictionary of attributes
// (`{lower = true, mode = 86 : ui8}`), in `mhlo.backend_config` among the frontend attributes, or as plain
// text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlo_run/module.h"
#include "nlohmann/json.hpp"
#include "types/index.h"

namespace hlo::reference::custom {

class Options {
 public:
  explicit Options(const Instruction& call);

  // The value under a name, or the other one where there is none or it is of another kind. Numbers in strings
  // count as numbers.
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Number(std::string_view name, double otherwise) const;
  bool Bool(std::string_view name, bool otherwise) const;
  std::string Text(std::string_view name, std::string_view otherwise) const;
  // A letter, written as its code or as a string.
  char Letter(std::string_view name, char otherwise) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const nlohmann::json* Find(std::string_view name) const;
  // Whether there is a value of that name, here or in a group within.
  bool HasWithin(std::string_view name) const;

  // A list of integers, which may be written as strings; empty where there is none. -1 for what is no
  // integer.
  Index Ints(std::string_view name) const;

  // A number as a list of one, or a list of numbers; empty where there is neither.
  std::vector<double> Numbers(std::string_view name) const;

  // The options of the group of that name, or these themselves.
  Options Group(std::string_view name) const;

  // The whole configuration as it is written.
  std::string_view text() const { return text_; }

 private:
  explicit Options(nlohmann::json values) : values_(std::move(values)) {}
  std::string_view text_;
  nlohmann::json values_;
};

}  // namespace hlo::reference::custom
