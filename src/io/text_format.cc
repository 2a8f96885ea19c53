#include "io/text_format.h"

#include "fmt/format.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace hlo::io {
namespace {

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string* text) : text_(text) { text_->clear(); }
  void AddError(int line, int column, const std::string& message) override {
    if (text_->empty()) *text_ = fmt::format("{}:{}: {}", line + 1, column + 1, message);
  }
  void AddWarning(int, int, const std::string&) override {}

 private:
  std::string* text_;
};

}  // namespace

bool ParseTextFormat(const std::string& text, google::protobuf::Message* message, std::string* error) {
  FirstError first(error);
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(100);
  parser.RecordErrorsTo(&first);
  return parser.ParseFromString(text, message);
}

}  // namespace hlo::io
