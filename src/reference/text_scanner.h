#pragma once
// Scans the dictionaries of custom calls.

#include <cctype>
#include <string>
#include <string_view>

namespace hlo::reference {

class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

 protected:
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  // Skips space and this character. Returns false if another one follows.
  bool Consume(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // Reads letters, digits and the characters of `others`.
  std::string Word(std::string_view others) {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  others.find(text_[at_]) != std::string_view::npos))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace hlo::reference
