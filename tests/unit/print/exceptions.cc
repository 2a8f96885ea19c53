// Deliberate differences from XLA.

#include <algorithm>

#include "vectors.h"

namespace hlo {
namespace {

struct Exception {
  std::string_view reason;
  std::vector<std::string_view> ids;
};

const Exception kDiffers[] = {
    {"text-format trap 8: XLA copies a NaN of the real part, and loses the payload of the imaginary one",
     {"text-5.5-147", "text-5.5-148", "text-5.5p-64", "text-5.5p-67", "text-5.5p-68"}},
    {"text-format trap 7: XLA takes integers from 2^63 on for negative ones",
     {"text-5.5p-87", "text-5.5p-88", "text-5.5p-90"}},
    {"XLA forgets an empty tuple in the tree of an origin", {"text-6.5p-32"}},
    {"text-format 4.3: an index type that is not an unsigned integer prints as #(invalid)", {"text-4.3-48"}},
};

const Exception kRefused[] = {
    {"text-format 8.17: XLA drops a second alias of an output", {"text-2.2-52"}},
    {"text-format 4.3: XLA drops unfinished annotations and checks neither numbers nor permutations in "
     "layouts",
     {"text-4.3-43",  "text-4.3-44",  "text-4.3-56",  "text-4.3-60",  "text-4.3-61",  "text-4.3-63",
      "text-4.3-66",  "text-4.3-69",  "text-4.3p-12", "text-4.3p-13", "text-4.3p-14", "text-4.3p-15",
      "text-4.3p-17", "text-4.3p-18", "text-4.3p-19", "text-4.3p-20", "text-4.3p-26", "text-4.3p-28",
      "text-4.3p-31", "text-4.3p-33", "text-4.3q-02", "text-4.3q-03", "text-4.3q-04", "text-4.3q-05",
      "text-4.3q-06", "text-4.3q-12", "text-4.3q-20"}},
    {"text-format 5.5: XLA gives some other value for what the type lacks",
     {"text-5.5i-01", "text-5.5i-02", "text-5.5i-03", "text-5.5i-04", "text-5.5i-05",
      "text-5.5i-06", "text-5.5i-07", "text-5.5i-08", "text-5.5n-06", "text-5.5n-07",
      "text-5.5n-08", "text-5.5p-31", "text-5.5p-32", "text-5.5p-33", "text-5.5p-34",
      "text-5.5p-35", "text-5.5p-36", "text-5.5p-37", "text-5.5p-39", "text-5.5p-40"}},
    {"text-format 5.5: XLA skips commas without looking, and takes () for any tuple",
     {"text-5.5a-02", "text-5.5a-03", "text-5.5a-03-exact", "text-5.5a-04", "text-5.5a-04-exact",
      "text-5.5p-71", "text-5.5p-75", "text-5.5p-75-exact", "text-5.5p-76", "text-5.5p-76-exact",
      "text-5.5p-93", "text-5.5p-93-exact"}},
    {"text-format 6.5: XLA reads malformed origins",
     {"text-6.5-12", "text-6.5-17", "text-6.5p-13", "text-6.5p-22", "text-6.5p-23", "text-6.5p-24",
      "text-6.5p-30", "text-6.5p-33"}},
    {"text-format B: without a result shape, what nothing implies is refused",
     {"text-7-13", "text-7-14", "text-8.11p-55", "text-Bp-03", "text-Bp-04", "text-Bq-04", "text-Bq-05"}},
    {"text-format 6.2: XLA does not check that T(...) is a permutation", {"text-6.2.1p-29"}},
    {"text-format 5.4: XLA drops further operands of a done", {"text-5.4p-01", "text-5.4p-02"}},
    {"text-format 7: an operand is needed", {"text-7-concatenate-06", "text-7-reduce-07", "text-7-sort-06"}},
};

template <size_t kSize>
std::string_view Find(const Exception (&rows)[kSize], std::string_view id) {
  for (const Exception& row : rows) {
    if (std::find(row.ids.begin(), row.ids.end(), id) != row.ids.end()) return row.reason;
  }
  return "";
}

}  // namespace

std::string_view ReasonToDiffer(std::string_view id) { return Find(kDiffers, id); }
std::string_view ReasonToRefuse(std::string_view id) { return Find(kRefused, id); }

}  // namespace hlo
