#include "types/bounds.h"

#include "base/status.h"
#include "types/index.h"
#include "types/view.h"

namespace hlo {
namespace {

// Counts the items in the first brace group at each depth.
class BraceCounter {
 public:
  explicit BraceCounter(int64_t rank) : sizes_(rank), is_closed_(rank) {}

  // Returns false after the last brace.
  bool Add(char c) {
    if (c == '{') {
      Item();
      ++depth_;
    } else if (c == '}') {
      if (depth_ == 0) return false;
      is_closed_[--depth_] = true;
    }
    const bool separates =
        c == '{' || c == '}' || c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!separates && !is_in_element_) Item();
    is_in_element_ = !separates;
    return depth_ > 0 && depth_ <= static_cast<int64_t>(sizes_.size());
  }
  std::vector<int64_t> sizes() && { return std::move(sizes_); }

 private:
  void Item() {
    if (depth_ > 0 && !is_closed_[depth_ - 1]) ++sizes_[depth_ - 1];
  }

  std::vector<int64_t> sizes_;
  std::vector<bool> is_closed_;
  int64_t depth_ = 0;
  bool is_in_element_ = false;
};

}  // namespace

absl::StatusOr<Literal> PaddedToBounds(const Literal& dense, const Shape& bounds) {
  if (dense.dims() == bounds.dims()) return dense.WithShape(bounds);
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::CreateZeros(bounds));
  const View all = View::Dense(bounds.dims());
  if (dense.element_count() > 0) {
    CopyElements(ByteCount(bounds.type()), dense.data(), View::Dense(dense.dims()), result.mutable_data(),
                 all.Window(Zeros(bounds.rank()), Index(dense.dims().begin(), dense.dims().end())));
  }
  for (int64_t d = 0; d < bounds.rank(); ++d) {
    if (dense.dim(d) != bounds.dim(d)) result.set_dynamic_size(d, dense.dim(d));
  }
  return result;
}

std::vector<int64_t> SizesOfBraces(std::string_view text, int64_t rank) {
  BraceCounter counter(rank);
  bool goes_on = true;
  for (size_t i = 0; goes_on && i < text.size(); ++i) {
    if (text.compare(i, 2, "/*") == 0) {
      i = std::min(text.find("*/", i), text.size() - 2) + 1;
    } else if (text[i] == '(') {  // A complex number.
      goes_on = counter.Add(text[i]);
      i = std::min(text.find(')', i), text.size() - 1);
    } else {
      goes_on = counter.Add(text[i]);
    }
  }
  return std::move(counter).sizes();
}

}  // namespace hlo
