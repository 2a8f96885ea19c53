// Assembles the arguments of a module from files and literals.

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/io.h"
#include "io/device_keys.h"
#include "io/literal_proto.h"
#include "io/make_inputs.h"
#include "io/text_value.h"

namespace hlo {
namespace {

// A node in the tree of arguments: a parameter or an element of a tuple.
struct Slot {
  Shape shape;
  Shape shape_in_memory;  // The shape with the layouts of the entry's interface.
  std::string name;       // For messages: `parameter 1 'x'`, `parameter 1.0 of 'x'`.
  Literal value;          // Set for leaves only.
  bool is_set = false;
  int rank = 0;  // The rank of the key that gave the value (DeviceKey).
  std::vector<Slot> elements;

  bool is_leaf() const { return !shape.IsTuple(); }
  // True if no key of this rank has given a part of it.
  bool IsFree(int of_rank) const {
    return !(is_set && rank == of_rank) &&
           std::all_of(elements.begin(), elements.end(), [&](const Slot& e) { return e.IsFree(of_rank); });
  }
};

Slot MakeSlot(const Shape& shape, const Shape& in_memory, const std::string& path, std::string_view parameter,
              bool is_parameter) {
  Slot slot{.shape = shape, .shape_in_memory = in_memory};
  slot.name = is_parameter ? fmt::format("parameter {} '{}'", path, parameter)
                           : fmt::format("element {} of parameter '{}'", path, parameter);
  if (shape.IsTuple()) {
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      slot.elements.push_back(MakeSlot(shape.elements()[i], in_memory.elements()[i],
                                       fmt::format("{}.{}", path, i), parameter, /*is_parameter=*/false));
    }
  } else if (!shape.IsArray() && !shape.IsBuffer()) {  // Tokens and opaques need no value.
    slot.value = *Literal::Create(shape);
    slot.is_set = true;
    slot.rank = -1;
  }
  return slot;
}

absl::Status Annotate(const absl::Status& status, const Slot& slot) {
  return absl::Status(status.code(), fmt::format("{}: {}", slot.name, Message(status)));
}

void CollectSlots(Slot& slot, std::vector<Slot*>* out) {
  if (slot.is_leaf()) out->push_back(&slot);
  for (Slot& element : slot.elements) CollectSlots(element, out);
}

class Assembler {
 public:
  Assembler(const Module& module, const InputsOptions& options) : module_(module), options_(options) {
    const Computation& entry = *module.entry();
    for (size_t i = 0; i < entry.parameters().size(); ++i) {
      const Instruction* parameter = entry.parameters()[i];
      names_.emplace(parameter->name(), i);
      const bool is_whole = !options.shapes.empty();
      const Shape in_memory =
          is_whole ? options.shapes[i] : ParameterShapeInMemory(module, static_cast<int64_t>(i));
      parameters_.push_back(MakeSlot(is_whole ? options.shapes[i] : parameter->shape(), in_memory,
                                     fmt::format("{}", i), parameter->name(), /*is_parameter=*/true));
    }
  }

  absl::Status Add(std::string_view text) {
    rank_ = 0;
    if (IsLiteral(text)) return AddLiteral(text);
    if (const io::DeviceKey key = KeyOfText(text); key.rank() > 0) {
      const DevicePlace device = options_.device.value_or(DevicePlace{});
      names_devices_ = options_.device.has_value();
      if (const absl::Status status = io::CheckDeviceKey(key, device); !status.ok())
        return absl::Status(status.code(), fmt::format("--input {}: {}", text, Message(status)));
      if (!key.Includes(device)) return absl::OkStatus();
      rank_ = key.rank();
      return AddUnprefixed(key.name[0] == '=' ? key.name.substr(1) : key.name);
    }
    return AddUnprefixed(text);
  }

  absl::Status AddUnprefixed(std::string_view text) {
    if (IsLiteral(text)) return AddLiteral(text);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      const std::string_view key = text.substr(0, equals);
      if (Slot* slot = Find(key)) return Fill(*slot, text.substr(equals + 1));
      // Paths may contain `=` as well.
      std::error_code error;
      const bool is_path = FileFormatOf(key).has_value() || key.find('/') != std::string_view::npos ||
                           std::filesystem::exists(text, error);
      if (!is_path) return NoSuchParameter(key);
    }
    return AddFile(std::string(text));
  }

  // Returns the device key at the beginning of `r1/x=...` and `r1/=...`; paths of files have none. A text in
  // a run of one device may also be the path of a file.
  io::DeviceKey KeyOfText(std::string_view text) const {
    const size_t equals = text.find('=');
    io::DeviceKey key = io::ParseDeviceKey(text);
    const bool is_name =
        equals != std::string_view::npos &&
        text.substr(0, equals).rfind('/') == static_cast<size_t>(key.name.data() - text.data()) - 1;
    std::error_code error;
    const bool is_key =
        key.rank() > 0 && is_name && (options_.device || !std::filesystem::exists(text, error));
    return is_key ? key : io::DeviceKey{.name = text};
  }

  absl::StatusOr<std::vector<Literal>> Finish() {
    if (options_.rest) HLO_RETURN_IF_ERROR(MakeRest());
    std::vector<std::string> missing;
    std::vector<Literal> arguments;
    for (Slot& slot : parameters_) {
      CollectMissing(slot, &missing);
      if (missing.empty()) arguments.push_back(TakeValue(slot));
    }
    if (missing.empty()) return arguments;
    constexpr size_t kShown = 10;
    const size_t more = missing.size() > kShown ? missing.size() - kShown : 0;
    missing.resize(missing.size() - more);
    return absl::FailedPreconditionError(fmt::format(
        "no value for {}{}{}; give --input for each, or --random SEED", absl::StrJoin(missing, ", "),
        more > 0 ? fmt::format(" and {} more", more) : "", OnDevice()));
  }

 private:
  // Returns " on p1" if keys of the inputs name devices.
  std::string OnDevice() const {
    if (!names_devices_) return "";
    std::string name = options_.device->prefix();
    return fmt::format(" on {}", name.substr(0, name.find('/')));
  }

  // Returns the slot of `2`, `2.0`, `name`, `name.0` or numpy.savez's `arr_2`; nullptr if there is none.
  Slot* Find(std::string_view key) {
    if (!key.empty() && key[0] == '%') key.remove_prefix(1);
    if (Slot* slot = Descend(key, nullptr)) return slot;
    if (const auto it = names_.find(key); it != names_.end()) return &parameters_[it->second];
    for (size_t dot = key.rfind('.'); dot != std::string_view::npos && dot > 0;
         dot = key.rfind('.', dot - 1)) {
      if (const auto it = names_.find(key.substr(0, dot)); it != names_.end()) {
        if (Slot* slot = Descend(key.substr(dot + 1), &parameters_[it->second])) return slot;
      }
    }
    constexpr std::string_view kSavez = "arr_";
    if (key.substr(0, kSavez.size()) == kSavez) return Descend(key.substr(kSavez.size()), nullptr);
    return nullptr;
  }

  // Returns the slot at `1.0.2` below `slot`, or below the list of parameters.
  Slot* Descend(std::string_view path, Slot* slot) {
    for (const absl::string_view step : absl::StrSplit(absl::string_view(path.data(), path.size()), '.')) {
      std::vector<Slot>& elements = slot ? slot->elements : parameters_;
      uint64_t index = 0;
      if (!absl::SimpleAtoi(step, &index) || index >= elements.size()) return nullptr;
      slot = &elements[index];
    }
    return slot;
  }

  absl::Status NoSuchParameter(std::string_view key) const {
    std::vector<std::string_view> names;
    for (const auto& [name, index] : names_) names.push_back(name);
    const std::string_view near = ClosestName(key, names);
    return absl::FailedPreconditionError(
        fmt::format("the entry computation has no parameter '{}'{}; it has {}, which go by name, by position "
                    "(0, 1, ...) or by path (1.0)",
                    key, near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                    Counted(parameters_.size(), "parameter")));
  }

  absl::Status Set(Slot& slot, const absl::StatusOr<Literal>& value) {
    if (!value.ok()) return Annotate(value.status(), slot);
    if (!slot.IsFree(rank_)) {
      return absl::FailedPreconditionError(fmt::format("{} is given twice{}", slot.name, OnDevice()));
    }
    Distribute(slot, *value);
    return absl::OkStatus();
  }

  // Sets the leaves of a slot, except those that a key for fewer devices gives.
  void Distribute(Slot& slot, const Literal& value) const {
    for (size_t i = 0; i < slot.elements.size(); ++i) Distribute(slot.elements[i], value.elements()[i]);
    if (!slot.is_leaf() || slot.rank < 0 || (slot.is_set && slot.rank > rank_)) return;
    slot.value = value;
    slot.is_set = true;
    slot.rank = rank_;
  }

  // True for a literal with its shape, or for elements that are not a file name.
  static bool IsLiteral(std::string_view text) {
    return io::StartsWithShape(text) || (io::StartsWithElements(text) && !FileFormatOf(text));
  }

  absl::StatusOr<Literal> Read(const std::string& source, const Shape& shape) const {
    if (IsLiteral(source)) return io::ReadTextValue(SourceText("--input", source), shape, options_.read);
    return ReadValue(source, shape, options_.read);
  }

  absl::Status Fill(Slot& slot, std::string_view source) {
    if (FileFormatOf(source) == FileFormat::kRaw) {
      absl::StatusOr<Literal> value = ReadValue(std::string(source), slot.shape_in_memory);
      return Set(slot, value.ok() ? InLayoutsOf(slot.shape, *value) : value);
    }
    return Set(slot, Read(std::string(source), slot.shape));
  }

  // Generates the values that no input gave.
  absl::Status MakeRest() {
    const auto is_wanted = [&](size_t p) {
      std::vector<std::string> missing;
      CollectMissing(parameters_[p], &missing);
      return !missing.empty();
    };
    HLO_ASSIGN_OR_RETURN(const std::vector<Literal> made,
                         io::MakeSomeInputs(module_, *options_.rest, is_wanted, options_.shapes));
    for (size_t p = 0; p < made.size(); ++p) {
      if (made[p].shape().IsValid()) SetMissing(parameters_[p], made[p]);
    }
    return absl::OkStatus();
  }

  static void SetMissing(Slot& slot, const Literal& value) {
    if (slot.is_set) return;
    for (size_t i = 0; i < slot.elements.size(); ++i) SetMissing(slot.elements[i], value.elements()[i]);
    if (!slot.is_leaf()) return;
    slot.value = value;
    slot.is_set = true;
  }

  // Returns the first slot without a value of this rank whose kind, tuple or array, fits.
  Slot* NextFree(bool for_tuple) {
    for (Slot& parameter : parameters_) {
      if (for_tuple && parameter.shape.IsTuple() && parameter.IsFree(rank_)) return &parameter;
      if (for_tuple) continue;
      std::vector<Slot*> arrays;
      CollectSlots(parameter, &arrays);
      for (Slot* slot : arrays) {
        if (slot->rank >= 0 && slot->IsFree(rank_)) return slot;
      }
    }
    return nullptr;
  }

  absl::Status TooMany(std::string_view text) const {
    return absl::FailedPreconditionError(
        fmt::format("--input {}: the entry computation has {}, and each has a value already", text,
                    Counted(parameters_.size(), "parameter")));
  }

  // True if the text starts a tuple; a complex number starts in the same way.
  bool IsTupleText(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '(') return false;
    const Slot* array = NextFree(/*for_tuple=*/false);
    return array == nullptr || !IsComplex(array->shape.type()) || io::StartsWithShape(text);
  }

  absl::Status AddLiteral(std::string_view text) {
    Slot* slot = NextFree(IsTupleText(text));
    return slot ? Fill(*slot, text) : TooMany(text);
  }

  absl::Status AddFile(const std::string& path) {
    const std::optional<FileFormat> format = FileFormatOf(path);
    if (format == FileFormat::kNpz || format == FileFormat::kSafetensors || format == FileFormat::kJson)
      return AddArchive(path);
    bool for_tuple = false;
    if (format == FileFormat::kText) {
      HLO_ASSIGN_OR_RETURN(std::shared_ptr<const SourceText> text, SourceText::Read(path));
      for_tuple = IsTupleText(text->content());
    } else if (format == FileFormat::kProto || format == FileFormat::kProtoText) {
      HLO_ASSIGN_OR_RETURN(const Literal value, io::ReadLiteralProto(path));
      for_tuple = value.shape().IsTuple();
    }
    if (for_tuple && AddAll(path)) return absl::OkStatus();
    Slot* slot = NextFree(for_tuple);
    return slot ? Fill(*slot, path) : TooMany(path);
  }

  // Reads a file that contains a tuple of all parameters, as WriteValues writes it; returns false for other
  // files.
  bool AddAll(const std::string& path) {
    std::vector<Shape> shapes;
    for (const Slot& parameter : parameters_) {
      if (!parameter.IsFree(rank_)) return false;
      shapes.push_back(parameter.shape);
    }
    if (shapes.size() < 2) return false;
    const absl::StatusOr<Literal> all = Read(path, Shape::Tuple(std::move(shapes)));
    if (!all.ok()) return false;
    for (size_t p = 0; p < parameters_.size(); ++p) Distribute(parameters_[p], all->elements()[p]);
    return true;
  }

  absl::Status AddArchive(const std::string& path) {
    HLO_ASSIGN_OR_RETURN(std::unique_ptr<Archive> archive, Archive::Open(path));
    const int outer_rank = rank_;
    for (const std::string& key : archive->keys()) {
      const io::DeviceKey parsed = options_.device ? io::ParseDeviceKey(key) : io::DeviceKey{.name = key};
      names_devices_ |= parsed.rank() > 0;
      absl::Status status;
      if (options_.device) status = io::CheckDeviceKey(parsed, *options_.device);
      Slot* slot = Find(parsed.name);
      if (status.ok() && slot == nullptr) status = NoSuchParameter(parsed.name);
      if (!status.ok())
        return absl::Status(status.code(), fmt::format("{}: key '{}': {}", path, key, Message(status)));
      if (options_.device && !parsed.Includes(*options_.device)) continue;
      rank_ = std::max(outer_rank, parsed.rank());
      if (!slot->is_leaf()) {
        return absl::FailedPreconditionError(fmt::format("{}: key '{}' holds one array, but {} is {}", path,
                                                         key, slot->name, ToString(slot->shape)));
      }
      HLO_RETURN_IF_ERROR(Set(*slot, archive->Read(key, slot->shape, options_.read)));
    }
    return absl::OkStatus();
  }

  static void CollectMissing(const Slot& slot, std::vector<std::string>* out) {
    if (slot.is_leaf() && slot.is_set) return;
    if (slot.is_leaf()) out->push_back(fmt::format("{} ({})", slot.name, ToString(slot.shape)));
    for (const Slot& element : slot.elements) CollectMissing(element, out);
  }

  static Literal TakeValue(Slot& slot) {
    if (slot.is_leaf()) return std::move(slot.value);
    std::vector<Literal> elements;
    for (Slot& element : slot.elements) elements.push_back(TakeValue(element));
    return Literal::Tuple(std::move(elements));
  }

  const Module& module_;
  const InputsOptions& options_;
  absl::flat_hash_map<std::string_view, size_t> names_;
  std::vector<Slot> parameters_;
  int rank_ = 0;  // The rank of the key whose value is set.
  bool names_devices_ = false;
};

}  // namespace

absl::StatusOr<std::vector<Literal>> ReadInputs(const Module& module, absl::Span<const std::string> inputs,
                                                const InputsOptions& options) {
  Assembler assembler(module, options);
  for (const std::string& text : inputs) HLO_RETURN_IF_ERROR(assembler.Add(text));
  return assembler.Finish();
}

absl::StatusOr<InputScope> ScopeOfInputs(absl::Span<const std::string> inputs) {
  InputScope scope;
  const auto add = [&](std::string_view key) {
    const io::DeviceKey parsed = io::ParseDeviceKey(key);
    scope.by_replica |= parsed.replica.has_value();
    scope.by_partition |= parsed.partition.has_value();
  };
  for (const std::string& text : inputs) {
    if (io::StartsWithShape(text)) continue;
    const size_t equals = text.rfind('=');
    if (equals != std::string::npos) add(text);
    const std::string path = equals == std::string::npos ? text : text.substr(equals + 1);
    const std::optional<FileFormat> format = FileFormatOf(path);
    if (format != FileFormat::kNpz && format != FileFormat::kSafetensors && format != FileFormat::kJson)
      continue;
    HLO_ASSIGN_OR_RETURN(const std::unique_ptr<Archive> archive, Archive::Open(path));
    for (const std::string& key : archive->keys()) add(key);
  }
  return scope;
}

}  // namespace hlo
