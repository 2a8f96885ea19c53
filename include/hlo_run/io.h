#pragma once
/// \file
/// Reads and writes values in files: .npy, .npz, .safetensors, HLO literal text (.txt), raw bytes (.bin,
/// .raw), JSON and LiteralProto (.pb, .pbtxt). Files are untrusted: nothing is converted unless the caller
/// asks for it, and an array of an unexpected type or shape gives FailedPrecondition.

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

/// The formats of values in files.
enum class FileFormat : uint8_t { kNpy, kNpz, kSafetensors, kText, kRaw, kJson, kProto, kProtoText };
/// Returns the format that the file name extension implies; nullopt for any other extension.
std::optional<FileFormat> FileFormatOf(std::string_view path);

/// Options of reading values.
struct ReadOptions {
  /// Converts elements of another type: integers and pred must be representable, floats are rounded.
  /// FailedPrecondition names the first element that the expected type cannot represent.
  bool convert = false;
};

/// A file of arrays under keys: .npz, .safetensors or .json.
class Archive {
 public:
  static absl::StatusOr<std::unique_ptr<Archive>> Open(const std::string& path);
  virtual ~Archive() = default;
  virtual const std::vector<std::string>& keys() const = 0;
  /// Reads the array under `key`. Types that the format lacks may be stored as unsigned integers or raw bytes
  /// of the same width.
  absl::StatusOr<Literal> Read(const std::string& key, const Shape& expected,
                               const ReadOptions& options = {}) {
    return DoRead(key, expected, options);
  }

 private:
  virtual absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                         const ReadOptions& options) = 0;
};

/// Reads a value of a known shape from an archive: an array from the entry `key`, the elements of a tuple
/// from `key.0`, `key.1`, ...
absl::StatusOr<Literal> ReadTree(Archive& archive, const Shape& expected, const std::string& key,
                                 const ReadOptions& options = {});

/// Reads a value of a known shape from an .npy, .txt or .pb file, an archive or raw bytes. The keys of an
/// archive are shape indices (`0`, `1.0`). In raw bytes, the arrays follow each other in the layouts of the
/// shape.
absl::StatusOr<Literal> ReadValue(const std::string& path, const Shape& expected,
                                  const ReadOptions& options = {});

/// Writes a value in the format of the path's extension. Archives and JSON use the keys of ArrayLeaves; .npy
/// holds a single array; raw bytes have the layouts of the value's shape. The file is written as a temporary
/// file and renamed atomically.
absl::Status WriteValue(const std::string& path, const Literal& value);
/// Writes several values, such as the arguments of a module, under the keys `0`, `1.0`, ... by position.
absl::Status WriteValues(const std::string& path, absl::Span<const Literal> values);
/// Writes the values of several devices to an archive, under the keys of ArrayLeaves behind the given
/// prefixes (DevicePlace::prefix). Returns FailedPrecondition for files of a single value.
absl::Status WriteUnderPrefixes(const std::string& path, absl::Span<const std::string> prefixes,
                                absl::Span<const Literal> values);
std::string ToJson(const Literal& value);

/// Return the shape of an entry parameter and of the entry's result with the layouts of
/// `entry_computation_layout`, if present. Callers pass these values in these layouts.
Shape ParameterShapeInMemory(const Module& module, int64_t parameter);
Shape ResultShapeInMemory(const Module& module);
/// Returns the value with `shape`, which may differ from its own shape only in layouts.
Literal InLayoutsOf(const Shape& shape, const Literal& value);

/// Distributions of generated arguments. Equal seeds give equal values on every machine.
enum class InputFill : uint8_t {
  kUniform,
  kNormal,
  kLogUniform,  ///< The exponents of the magnitudes are uniform.
  kZeros,
  kOnes,
  kIota
};
std::optional<InputFill> ParseInputFill(std::string_view word);
/// A range of generated numbers.
struct InputRange {
  double low = 0, high = 0;  ///< The closed interval [low, high], with low <= high.
};
/// Parses `LO:HI`, two finite numbers. Returns InvalidArgument for anything else.
absl::StatusOr<InputRange> ParseInputRange(std::string_view text);

/// Options of MakeInputs. By default floats are uniform in [-1, 1), standard normal, or log-uniform of either
/// sign in [2^-10, 2^10]. Signed integers are in [-8, 8], unsigned ones in [0, 16], and pred is random. With
/// a range, integers and uniform floats are uniform in it. Normal floats are around its middle, with a
/// twelfth of its width as standard deviation. Log-uniform floats require a positive range. Integers that
/// reach an index operand of gather, scatter, dynamic-slice or dynamic-update-slice stay within the indexed
/// dimension.
struct MakeOptions {
  InputFill fill = InputFill::kUniform;
  uint64_t seed = 0;
  std::optional<InputRange> range;
  /// Overrides for single parameters, by name or number.
  std::vector<std::pair<std::string, InputFill>> fills;
  std::vector<std::pair<std::string, InputRange>> ranges;
};
/// Generates the arguments of the entry computation. Returns FailedPrecondition if a range holds no value of
/// a parameter's type or a named parameter does not exist.
absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, const MakeOptions& options);
absl::StatusOr<std::vector<Literal>> MakeInputs(const Module& module, InputFill fill, uint64_t seed);

/// A device of a run on several devices. The keys of its values may begin with its replica and partition:
/// `r1/x`, `p2/x`, `r1p2/x`.
struct DevicePlace {
  int64_t replicas = 1, partitions = 1;  ///< The counts of the run.
  int64_t replica = 0, partition = 0;
  /// Returns the beginning of the keys of this device alone, such as `r1/`; "" in a run of one device.
  std::string prefix() const;
};

/// Options of ReadInputs, which reads the arguments of the entry computation as the texts of `--input`
/// specify. Each text is a file, or a literal with or without its shape:
///   x.npy  args.npz  weights.safetensors  x.txt  x.bin  'f32[2]{1,2}'  '{1,2}'  2
/// Texts are assigned by position, or to a parameter or a leaf of it: `name=x.npy`, `1=x.npy`, `1.0=x.npy`. A
/// positional array goes to the next leaf without a value, so a tuple takes several. Keys of archives are
/// positions, shape indices or names.
struct InputsOptions {
  ReadOptions read;
  /// Generates the arrays without an input; they equal those of MakeInputs.
  std::optional<MakeOptions> rest;
  /// The shapes of the arguments if they differ from the parameters: whole arrays, which are split over
  /// devices.
  std::vector<Shape> shapes;
  /// The device whose arguments are read. Names and keys of archives may then belong to some devices, as in
  /// `r1/weights=w.npy`, or `r1/=args.npz` for all arguments; those for fewer devices replace those for more.
  std::optional<DevicePlace> device;
};
absl::StatusOr<std::vector<Literal>> ReadInputs(const Module& module, absl::Span<const std::string> inputs,
                                                const InputsOptions& options = {});

/// Tells whether texts for ReadInputs, or keys of the archives that they name, belong to some replicas or
/// partitions.
struct InputScope {
  bool by_replica = false, by_partition = false;
};
absl::StatusOr<InputScope> ScopeOfInputs(absl::Span<const std::string> inputs);

/// A module read from a file: HLO text, or a serialised HloModuleProto, HloProto or HloSnapshot (.pb, .binpb;
/// text format .pbtxt, .textproto, .txtpb), which is converted to text. Other names, and "-", are recognised
/// by their first bytes.
struct ModuleFile {
  std::shared_ptr<const SourceText> text;
  /// The arguments and the result that a snapshot recorded.
  std::optional<std::vector<Literal>> arguments;
  std::optional<Literal> result;
};
absl::StatusOr<ModuleFile> ReadModuleFile(const std::string& path);
absl::StatusOr<ModuleFile> ParseModuleFile(std::shared_ptr<const SourceText> bytes);

/// Values for elided constants, whose elements a dump printed as `{...}`.
/// The values of constants that the text elides as {...}.
enum class ElidedFill : uint8_t {
  kNone,
  kZeros,
  /// The default distribution of MakeInputs: uniform floats and small integers. Arrays are numbered in text
  /// order.
  kRandom,
  /// The values of XLA's reader: the bytes of each array in row-major order are words of a 32-bit counter
  /// that continues across arrays in text order. The last one to three bytes of an array come from an 8-bit
  /// counter. Elements narrower than a byte keep its low bits, pred keeps one.
  kCounter,
};
/// The values of elided constants; files take precedence over the fill.
struct ElidedValues {
  ElidedFill fill = ElidedFill::kNone;
  uint64_t seed = 0;  ///< The seed of kRandom.
  std::vector<std::pair<std::string, std::string>>
      files;  ///< Pairs of an instruction name and a file for ReadValue.
};
/// Adds `zeros`, `random`, `random:SEED`, `counter` or `NAME=FILE`. Returns InvalidArgument for anything
/// else.
absl::Status AddElidedValues(std::string_view text, ElidedValues* values);
/// Sets the elided constants of a module: from files first, then from the fill.
absl::Status FillElided(const ElidedValues& values, Module& module);

}  // namespace hlo
#pragma GCC visibility pop
