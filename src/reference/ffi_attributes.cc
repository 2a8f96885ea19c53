#include "reference/ffi_attributes.h"

#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/element_type.h"
#include "reference/text_scanner.h"
#include "types/wide.h"

namespace hlo::reference {
namespace {

// Returns the element type of an MLIR type name: i32, ui8, f32, index.
std::optional<ElementType> TypeOf(const std::string& name) {
  if (name == "i1") return ElementType::kPred;
  if (name == "index") return ElementType::kS64;
  if (name[0] == 'i') return ParseElementType("s" + name.substr(1));
  if (name.substr(0, 2) == "si" || name.substr(0, 2) == "ui")
    return ParseElementType(name[0] + name.substr(2));
  return ParseElementType(absl::AsciiStrToLower(name));
}

}  // namespace

// Owns the data of the views; its lists have stable addresses.
struct FfiAttributes::Storage {
  struct Dictionary {
    std::map<std::string, std::pair<int32_t, void*>> entries;  // Sorted by name.
    std::vector<int32_t> kinds;
    std::vector<ffi::Text> names;
    std::vector<ffi::Text*> name_pointers;
    std::vector<void*> values;
    ffi::Attributes view;
  };
  std::list<Dictionary> dictionaries;
  std::list<std::vector<std::byte>> bytes;
  std::list<std::string> strings;
  std::list<ffi::Text> texts;
  std::list<ffi::Scalar> scalars;
  std::list<ffi::Array> arrays;
};

class FfiAttributeReader : private TextScanner {
 public:
  using Storage = FfiAttributes::Storage;
  FfiAttributeReader(std::string_view text, Storage& storage) : TextScanner(text), storage_(storage) {}

  absl::StatusOr<const ffi::Attributes*> ReadAll() {
    Storage::Dictionary& dictionary = storage_.dictionaries.emplace_back();
    if (!Consume('{')) return Unexpected("a dictionary in braces");
    HLO_RETURN_IF_ERROR(ReadEntries(dictionary, 0));
    SkipSpace();
    if (at_ != text_.size()) return Unexpected("the end");
    return &dictionary.view;
  }

 private:
  using Attribute = std::pair<int32_t, void*>;
  static constexpr int kDeepest = 32;
  static constexpr std::string_view kWordCharacters = "_.+-$";

  absl::Status Unexpected(std::string_view expected) const {
    return absl::InvalidArgumentError(fmt::format("at byte {} of its backend_config: expected {}, found '{}'",
                                                  at_, expected, text_.substr(at_, 20)));
  }

  // Parses the rest of a string after the opening quote. \\HH is a byte.
  absl::StatusOr<std::string> Quoted() {
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        uint32_t code = 0;
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (at_ < text_.size() && std::isxdigit(static_cast<unsigned char>(c)) != 0 &&
            absl::SimpleHexAtoi(std::string{c, text_[at_]}, &code)) {
          c = static_cast<char>(code);
          ++at_;
        }
      }
      result += c;
    }
    if (!Consume('"')) return Unexpected("a closing quote");
    return result;
  }

  absl::Status ReadEntries(Storage::Dictionary& dictionary, int depth) {
    if (depth > kDeepest) return Unexpected("fewer levels of dictionaries");
    while (!Consume('}')) {
      std::string name;
      if (Consume('"')) {
        HLO_ASSIGN_OR_RETURN(name, Quoted());
      } else {
        name = Word(kWordCharacters);
      }
      if (name.empty()) return Unexpected("the name of an attribute");
      if (!Consume('=')) return Unexpected(fmt::format("= behind the attribute '{}'", name));
      HLO_ASSIGN_OR_RETURN(const Attribute value, ReadValue(depth));
      if (!dictionary.entries.emplace(name, value).second) return Unexpected(fmt::format("'{}' once", name));
      SkipSpace();
      if (!Consume(',') && (at_ >= text_.size() || text_[at_] != '}')) return Unexpected(", or }");
    }
    Finish(dictionary);
    return absl::OkStatus();
  }

  static void Finish(Storage::Dictionary& dictionary) {
    for (const auto& [name, value] : dictionary.entries) {
      dictionary.kinds.push_back(value.first);
      dictionary.names.push_back({name.data(), name.size()});
      dictionary.values.push_back(value.second);
    }
    for (ffi::Text& name : dictionary.names) dictionary.name_pointers.push_back(&name);
    dictionary.view = {.struct_size = sizeof(ffi::Attributes),
                       .extensions = nullptr,
                       .size = static_cast<int64_t>(dictionary.values.size()),
                       .kinds = dictionary.kinds.data(),
                       .names = dictionary.name_pointers.data(),
                       .values = dictionary.values.data()};
  }

  absl::StatusOr<Attribute> ReadValue(int depth) {
    if (Consume('{')) {
      Storage::Dictionary& dictionary = storage_.dictionaries.emplace_back();
      HLO_RETURN_IF_ERROR(ReadEntries(dictionary, depth + 1));
      return Attribute{ffi::kDictionary, &dictionary.view};
    }
    if (Consume('"')) {
      HLO_ASSIGN_OR_RETURN(std::string text, Quoted());
      const std::string& kept = storage_.strings.emplace_back(std::move(text));
      return Attribute{ffi::kString, &storage_.texts.emplace_back(ffi::Text{kept.data(), kept.size()})};
    }
    const std::string word = Word(kWordCharacters);
    if (word == "array" && Consume('<')) return ReadArray();
    if (word == "true" || word == "false") return MakeScalar(word, ElementType::kPred);
    const bool is_real = word.find_first_of(".einE") != std::string::npos && word.substr(0, 2) != "0x";
    ElementType type = is_real ? ElementType::kF64 : ElementType::kS64;
    if (Consume(':')) {
      HLO_ASSIGN_OR_RETURN(type, ReadType());
    }
    return MakeScalar(word, type);
  }

  absl::StatusOr<ElementType> ReadType() {
    const std::string name = Word(kWordCharacters);
    const std::optional<ElementType> type = name.empty() ? std::nullopt : TypeOf(name);
    if (!type) return Unexpected("an element type such as i32 or f32");
    return *type;
  }

  // Parses the rest of `array<i64: 1, 2>` after the bracket.
  absl::StatusOr<Attribute> ReadArray() {
    HLO_ASSIGN_OR_RETURN(const ElementType type, ReadType());
    std::vector<std::byte> bytes;
    size_t count = 0;
    if (Consume(':')) {
      do {
        HLO_RETURN_IF_ERROR(AppendNumber(Word(kWordCharacters), type, &bytes));
        ++count;
      } while (Consume(','));
    }
    if (!Consume('>')) return Unexpected(", or >");
    std::vector<std::byte>& kept = storage_.bytes.emplace_back(std::move(bytes));
    return Attribute{ffi::kArray,
                     &storage_.arrays.emplace_back(ffi::Array{Info(type).proto_number, count, kept.data()})};
  }

  absl::StatusOr<Attribute> MakeScalar(const std::string& word, ElementType type) {
    std::vector<std::byte> bytes;
    HLO_RETURN_IF_ERROR(AppendNumber(word, type, &bytes));
    std::vector<std::byte>& kept = storage_.bytes.emplace_back(std::move(bytes));
    return Attribute{ffi::kScalar,
                     &storage_.scalars.emplace_back(ffi::Scalar{Info(type).proto_number, kept.data()})};
  }

  absl::Status AppendNumber(const std::string& word, ElementType type, std::vector<std::byte>* bytes) const {
    const size_t begin = bytes->size();
    bytes->resize(begin + static_cast<size_t>(ByteCount(type)));
    const bool read = DispatchWide(type, [&]<class W>() {
      W value{};
      if constexpr (std::is_same_v<W, bool>) {
        value = word == "true" || word == "1" || word == "-1";
        if (!value && word != "false" && word != "0") return false;
      } else if constexpr (std::is_same_v<W, double>) {
        if (!absl::SimpleAtod(word, &value)) return false;
      } else if constexpr (std::is_same_v<W, std::complex<double>>) {
        return false;
      } else if (!absl::SimpleAtoi(word, &value)) {
        // MLIR prints unsigned integers with the top bit set as negative.
        int64_t negative = 0;
        if (!absl::SimpleAtoi(word, &negative)) return false;
        value = static_cast<W>(negative);
      }
      Storer<W>(type)(bytes->data() + begin, 0, value);
      return true;
    });
    if (read) return absl::OkStatus();
    return Unexpected(fmt::format("a {}, but there is '{}' before it", Name(type), word));
  }

  Storage& storage_;
};

absl::StatusOr<FfiAttributes> FfiAttributes::Parse(std::string_view text) {
  FfiAttributes result;
  result.storage_ = std::make_shared<Storage>();
  FfiAttributeReader reader(text.empty() ? std::string_view("{}") : text, *result.storage_);
  HLO_ASSIGN_OR_RETURN(result.view_, reader.ReadAll());
  return result;
}

}  // namespace hlo::reference
