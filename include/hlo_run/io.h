#pragma once
// Values in files: .npy, .npz, .safetensors, HLO literal text (.txt), the bytes of memory (.bin, .raw), JSON
// and LiteralProto (.pb, .pbtxt). Files are untrusted: nothing is converted unless the caller asks for it,
// and an array of another type or shape than the expected one is FailedPrecondition.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

enum class FileFormat : uint8_t { kNpy, kNpz, kSafetensors, kText, kRaw, kJson, kProto, kProtoText };
// By the ending of the name; nullopt for any other.
std::optional<FileFormat> FileFormatOf(std::string_view path);

struct ReadOptions {
  // Elements of another type are converted: integers and pred exactly, floats by rounding. FailedPrecondition
  // names the first element that the expected type cannot hold.
  bool convert = false;
};

// Arrays under keys: an .npz, .safetensors or .json file.
class Archive {
 public:
  static absl::StatusOr<std::unique_ptr<Archive>> Open(const std::string& path);
  virtual ~Archive() = default;
  virtual const std::vector<std::string>& keys() const = 0;
  // Types that the format lacks may come as unsigned integers or raw bytes of the same width.
  absl::StatusOr<Literal> Read(const std::string& key, const Shape& expected,
                               const ReadOptions& options = {}) {
    return DoRead(key, expected, options);
  }

 private:
  virtual absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                         const ReadOptions& options) = 0;
};

// A value of a known shape from an .npy, .txt or .pb file, from an archive whose keys are paths (`0`, `1.0`)
// into it, or from raw bytes that are stored as the shape's layouts say, one array after the other.
absl::StatusOr<Literal> ReadValue(const std::string& path, const Shape& expected,
                                  const ReadOptions& options = {});

// Writes a value in the format that the path's ending names. Archives and JSON take the keys of ArrayLeaves;
// .npy takes one array alone; raw bytes lie by the layouts of the value's shape. The file appears under its
// name when it is complete, or not at all.
absl::Status WriteValue(const std::string& path, const Literal& value);
// Several values, the arguments of a module: keys `0`, `1.0`, ... by position.
absl::Status WriteValues(const std::string& path, absl::Span<const Literal> values);
std::string ToJson(const Literal& value);

// The shape of an entry parameter, or of the entry's result, with the layouts of `entry_computation_layout`
// where the module has them: how callers hand these values over.
Shape ParameterShapeInMemory(const Module& module, int64_t parameter);
Shape ResultShapeInMemory(const Module& module);
// The value under a shape that differs from its own in layouts alone.
Literal InLayoutsOf(const Shape& shape, const Literal& value);

// Made-up arguments. The same seed gives the same values on every machine.
enum class InputFill : uint8_t {
  kUniform,
  kNormal,
  kLogUniform,  // Magnitudes whose exponents are uniform.
  kZeros,
  kOnes,
  kIota
};
std::optional<InputFill> ParseInputFill(std::string_view word);
struct InputRange {
  double low = 0, high = 0;  // Both included, low <= high.
};
// `LO:HI`, two finite numbers. InvalidArgument for anything else.
absl::StatusOr<InputRange> ParseInputRange(std::string_view text);

// Floats are uniform in [-1, 1), normal, or log-uniform of either sign between 2^-10 and 2^10; integers small
// (-8 to 8, unsigned 0 to 16); pred a coin. With a range floats are uniform in it, normal around its middle
// with a twelfth of it as standard deviation, or log-uniform in it, which then must be positive; integers are
// uniform in it. Integers that reach an index operand of gather, scatter, dynamic-slice or
// dynamic-update-slice stay within the indexed dimension.
struct MakeOptions {
  InputFill fill = InputFill::kUniform;
  uint64_t seed = 0;
  std::optional<InputRange> range;
  // Of single parameters, by name or number; they come before the others.
  std::vector<std::pair<std::string, InputFill>> fills;
  std::vector<std::pair<std::string, InputRange>> ranges;
};
// FailedPrecondition where a range holds no value of a parameter's type, or a parameter does not exist.
absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, const MakeOptions& options);
absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, InputFill fill, uint64_t seed);

// The arguments of the entry computation from the texts of `--input`. Each is a file, or a literal with or
// without its shape:
//   x.npy  args.npz  weights.safetensors  x.txt  x.bin  'f32[2]{1,2}'  '{1,2}'  2
// taken by position, or for one parameter or a path into it: `name=x.npy`, `1=x.npy`, `1.0=x.npy`. An array
// goes to the next array that has no value yet, so a tuple takes several. Keys of archives are positions,
// paths or names.
struct InputsOptions {
  ReadOptions read;
  // Makes the arrays that none of the inputs gives. They are those that MakeInputs gives for these
  // parameters.
  std::optional<MakeOptions> rest;
};
absl::StatusOr<std::vector<Literal>> ReadInputs(const Module& module, absl::Span<const std::string> inputs,
                                                const InputsOptions& options = {});

// A module file: HLO text, or a serialised HloModuleProto, HloProto or HloSnapshot (.pb, .binpb; as protobuf
// text .pbtxt, .textproto, .txtpb), which becomes text. Other names, and "-", are told apart by their first
// bytes.
struct ModuleFile {
  std::shared_ptr<const SourceText> text;
  // What a snapshot has kept of a run.
  std::optional<std::vector<Literal>> arguments;
  std::optional<Literal> result;
};
absl::StatusOr<ModuleFile> ReadModuleFile(const std::string& path);
absl::StatusOr<ModuleFile> ParseModuleFile(std::shared_ptr<const SourceText> bytes);

// Values for constants whose elements a dump has left out (`{...}`).
enum class ElidedFill : uint8_t {
  kNone,
  kZeros,
  kRandom,   // As MakeInputs draws arguments: uniform floats, small integers. Arrays are numbered in text
             // order.
  kCounter,  // As XLA's reader fills them: each array's bytes, in row-major order, are words of a 32-bit
             // counter that goes on from array to array in text order; up to three bytes at an array's end
             // come from a counter of 8 bits. Elements narrower than a byte keep its low-order bits, pred one
             // bit.
};
struct ElidedValues {
  ElidedFill fill = ElidedFill::kNone;
  uint64_t seed = 0;  // Of kRandom.
  std::vector<std::pair<std::string, std::string>>
      files;  // For an instruction of this name, a file for ReadValue.
};
// Adds `zeros`, `random`, `random:SEED`, `counter` or `NAME=FILE`. InvalidArgument for anything else.
absl::Status AddElidedValues(std::string_view text, ElidedValues* values);
// Gives the constants their values: files first, the fill for those that remain.
absl::Status FillElided(const ElidedValues& values, Module& module);

}  // namespace hlo
#pragma GCC visibility pop
