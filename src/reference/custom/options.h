#pragma once
// The configuration of a custom call: JSON, a dictionary of attributes (`{lower = true, mode = 86 : ui8}`),
// `mhlo.backend_config` among the frontend attributes, or plain text.

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

  // Return the value of a name, or `otherwise` if it is absent or of another kind. Strings that contain
  // numbers count as numbers.
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Number(std::string_view name, double otherwise) const;
  bool Bool(std::string_view name, bool otherwise) const;
  std::string Text(std::string_view name, std::string_view otherwise) const;
  // Returns a letter, which is written as its code or as a string.
  char Letter(std::string_view name, char otherwise) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const nlohmann::json* Find(std::string_view name) const;
  // True if the name exists at the top level or in a group.
  bool HasWithin(std::string_view name) const;

  // Returns a list of integers, possibly written as strings; empty if absent. Other values become -1.
  Index Ints(std::string_view name) const;

  // Returns a number as a list of one, or a list of numbers; empty if absent.
  std::vector<double> Numbers(std::string_view name) const;

  // Returns the options of this group, or these options if there is none.
  Options Group(std::string_view name) const;

  // Returns the configuration as written.
  std::string_view text() const { return text_; }

 private:
  explicit Options(nlohmann::json values) : values_(std::move(values)) {}
  std::string_view text_;
  nlohmann::json values_;
};

}  // namespace hlo::reference::custom
