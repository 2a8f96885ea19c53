#pragma once
/// \file
/// Defines the value types of instruction attributes (text-format 6 and 8). All of them are plain data in the
/// module's arena; strings and lists are views into the arena or into the source text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/shape.h"
#include "hlo_run/source_text.h"

#pragma GCC visibility push(default)
namespace hlo {

class Computation;
class Instruction;

// Enumerations. Words<E>() lists the spellings of an enumeration in the order of its enumerators
// (attribute.cc).

/// The predicate of `compare`.
enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
/// The order of floats in `compare`. The total order puts -0 before +0, and NaNs at both ends by their signs.
enum class ComparisonOrder : uint8_t { kPartial, kTotal };
/// XLA removed this attribute in August 2026; older text has it.
enum class ComparisonType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
/// The transforms of `fft`: complex, its inverse, from real input, and to real output.
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
/// The kind of a `fusion`, which does not affect evaluation.
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };
/// The distribution of `rng`.
enum class RandomDistribution : uint8_t { kInvalid, kUniform, kNormal };
/// The generator of `rng-bit-generator`; kDefault is Philox (semantics 7.2).
enum class RngAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
/// The precision of an operand of a dot or convolution; it permits faster, less precise products.
enum class Precision : uint8_t { kDefault, kHigh, kHighest };
/// The types in which a dot rounds its operands and accumulates, `algorithm=` (semantics 6.1).
enum class PrecisionAlgorithm : uint8_t {
  kUnset,
  kAnyF8AnyF8F32,
  kAnyF8AnyF8F32FastAccum,
  kF16F16F16,
  kF16F16F32,
  kBF16BF16BF16,
  kBF16BF16F32,
  kBF16BF16F32X3,
  kBF16BF16F32X6,
  kBF16BF16F32X9,
  kTF32TF32F32,
  kTF32TF32F32X3,
  kF32F32F32,
  kF64F64F64
};
/// The role of a convolution in training: forward, gradient of the kernel, gradient of the input.
enum class ConvolutionKind : uint8_t { kUnset, kFprop, kWgrad, kDgrad };
/// The operation on the matrix of `triangular-solve`.
enum class TransposeA : uint8_t { kInvalid, kNoTranspose, kTranspose, kAdjoint };
/// The attribute `padding_type` of custom calls.
enum class PaddingType : uint8_t { kInvalid, kValid, kSame };
/// A hint for schedulers, which does not affect evaluation.
enum class CustomCallSchedule : uint8_t { kNone, kLatest, kEarliest };
/// The calling convention of a custom call.
enum class ApiVersion : uint8_t {
  kUnspecified,
  kOriginal,
  kStatusReturning,
  kStatusReturningUnified,
  kTypedFfi
};
/// The meaning of the numbers in replica groups (spmd 2.1).
enum class AllReduceMode : uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId
};
enum class ShuffleMode : uint8_t { kRotate };
/// The mode of `result_accuracy`.
enum class AccuracyMode : uint8_t { kDefault, kHighest };

/// The spellings of the enumerators of E, and whether matching ignores case.
template <class E>
struct EnumWords {
  absl::Span<const std::string_view> words;
  bool ignore_case = false;
};
template <class E>
const EnumWords<E>& Words();
/// Returns the spelling of an enumerator.
template <class E>
std::string_view Word(E value) {
  return Words<E>().words[static_cast<size_t>(value)];
}
/// Returns the enumerator with this spelling; nullopt if there is none.
template <class E>
std::optional<E> ParseWord(std::string_view word);

using IntList = absl::Span<const int64_t>;
using IntLists = absl::Span<const IntList>;
/// A list of bools takes one byte per element, since a packed bit list cannot be viewed as a span.
using BoolList = absl::Span<const bool>;

/// One dimension of a window (text-format 8); sizes, strides, padding and dilations are counts of elements.
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t window_dilation = 1;  ///< rhs_dilate
  int64_t base_dilation = 1;    ///< lhs_dilate
  bool reversed = false;        ///< rhs_reversal
  bool operator==(const WindowDim&) const = default;
};
using Window = absl::Span<const WindowDim>;

/// Maps the dimensions of a convolution to dimension numbers of its input, kernel and output; -1 if absent
/// (text-format 8).
struct DimLabels {
  int64_t input_batch = -1, input_feature = -1;
  IntList input_spatial;
  int64_t kernel_input_feature = -1, kernel_output_feature = -1;
  IntList kernel_spatial;
  int64_t output_batch = -1, output_feature = -1;
  IntList output_spatial;
  std::string_view text;  ///< The source spelling, including `?`.
};

/// The padding of one dimension in elements: edge padding may be negative, interior padding is not.
struct PaddingDim {
  int64_t low = 0, high = 0, interior = 0;
};
/// The half-open range [start, limit) of one dimension with a stride.
struct SliceRange {
  int64_t start = 0, limit = 0, stride = 1;
};

/// An entry of `frontend_attributes`.
struct KeyValue {
  std::string_view key;
  std::string_view value;
};
/// The attribute `frontend_attributes`, which carries annotations of frameworks.
struct FrontendAttributes {
  absl::Span<const KeyValue> entries;  ///< Sorted by key; the keys are unique.
};

/// A number that a tool shows with an instruction.
struct Statistic {
  std::string_view name;
  double value = 0;
};
/// The attribute `statistics`; it does not affect evaluation.
struct Statistics {
  int64_t visualizing_index = 0;
  absl::Span<const Statistic> entries;
};

/// The origin of an instruction in the framework's program; it does not affect evaluation.
struct Metadata {
  std::string_view op_type, op_name, source_file;
  int32_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  IntList profile_type;
  std::string_view deduplicated_name, scheduling_name;
  int32_t stack_frame_id = 0;
  std::string_view metadata_payload;
};

/// The device list `[d0,..]<=[r0,..]T(p0,..)`: an iota of product(r) elements, reshaped to r, transposed by p
/// and reshaped to d.
struct IotaTile {
  IntList dims;
  IntList reshape_dims;
  IntList transpose_perm;
};

/// An axis of a device mesh.
struct MeshAxis {
  std::string_view name;
  int64_t size = 1;
};
/// A mesh axis or, if `size` != 0, the sub-axis of `size` that follows sub-axes of product `pre_size`.
struct AxisRef {
  int64_t axis = 0;  ///< Index into Mesh::axes.
  int64_t pre_size = 0;
  int64_t size = 0;
};
/// A device mesh with named axes, or a single device.
struct Mesh {
  bool single_device = false;  ///< True for `single_device[device_id=N]`.
  int64_t device_id = 0;
  absl::Span<const MeshAxis> axes;
  IntList device_ids;              ///< The explicit device order; empty for the identity or an iota.
  const IotaTile* iota = nullptr;  ///< The iota form, `device_ids=([r,..]T(p,..))`.
};
/// The axes along which a dimension is sharded, major ones first.
struct DimSharding {
  absl::Span<const AxisRef> axes;
  bool open = false;  ///< True if `?` allows further sharding.
};

/// The device groups of a collective in one of three spellings.
struct ReplicaGroups {
  enum class Form : uint8_t { kList, kIota, kMesh };
  Form form = Form::kList;
  IntLists groups;                 ///< kList: the groups as written; empty means one group of all devices.
  const IotaTile* iota = nullptr;  ///< kIota: `dims` is {group count, group size}.
  const Mesh* mesh = nullptr;      ///< kMesh: the groups run along `axes` of this mesh.
  absl::Span<const AxisRef> axes;
};

/// A sharding annotation (text-format 6.2).
struct Sharding {
  enum class Kind : uint8_t { kReplicated, kMaximal, kManual, kUnknown, kUnreduced, kTiled, kNamed, kTuple };
  enum class Reduction : uint8_t { kSum, kMax, kMin };
  enum class Group : uint8_t { kNone, kShardAs, kShardLike };
  enum class SubgroupType : uint8_t { kReplicated, kManual, kMaximal, kUnreduced };

  Kind kind = Kind::kReplicated;
  /// Fields of the device-list form (text-format 6.2.1).
  int64_t maximal_device = 0;
  IntList tile_dims;  ///< The tile grid, with trailing replication and subgroup dimensions.
  /// The explicit device list in row-major order (V1); empty if `iota` is set.
  IntList devices;
  const IotaTile* iota = nullptr;  ///< The iota device list (V2).
  bool last_tile_dim_replicate = false;
  absl::Span<const SubgroupType> last_tile_dims;
  Group group = Group::kNone;
  int64_t group_id = 0;
  absl::Span<const Metadata* const> metadata;
  bool metadata_braces = false;  ///< True if the metadata was written as a list of records.
  /// Fields of the named form (text-format 6.2.2).
  enum class NamedTail : uint8_t { kNone, kReplicated, kManual, kUnreduced, kDims };
  const Mesh* mesh = nullptr;
  NamedTail tail = NamedTail::kNone;
  absl::Span<const DimSharding> dims;
  absl::Span<const AxisRef> replicated_axes, unreduced_axes, manual_axes;
  bool has_unreduced_axes = false;
  Reduction reduction = Reduction::kSum;
  /// The shardings of a tuple's leaves in depth-first order.
  absl::Span<const Sharding* const> elements;
};

/// A node of an `origin` tree, or an array of the recovery table and debug attributes (text-format 2.5 and
/// 2.6).
struct OriginNode {
  bool is_tuple = false;
  absl::Span<const OriginNode* const> elements;  ///< The children of a tuple node.
  bool has_value = false;                        ///< False for `{}`.
  std::string_view name;
  IntList index;
};
/// The attribute `origin`: the instruction of the original program for each leaf of the result.
struct Origin {
  const OriginNode* tree = nullptr;
  bool has_call_hierarchy = false;  ///< True for `{(),[""]}` and the older `[synthetic_call]`.
  std::string_view call_hierarchy;
};

/// States that a leaf of the result aliases a leaf of an operand; both are given by shape index.
struct OutputOperandAlias {
  IntList output_index;
  int64_t operand = 0;
  IntList operand_index;
};

/// The required accuracy of an elementwise function: a mode, or tolerances.
struct ResultAccuracy {
  bool has_tolerance = false;
  AccuracyMode mode = AccuracyMode::kDefault;
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
};

/// The structured sparsity of one operand of a dot or convolution.
struct SparsitySide {
  bool present = false;
  int64_t nonzeros = 0, block = 0;  ///< N and M of `sparsity=NxM`: at most N nonzeros in a block of M.
  int64_t dimension = 0, stride = 0, operand = 0;
};
/// The attribute `sparsity_config`.
struct SparsityConfig {
  SparsitySide lhs, rhs;
};
/// The scales of one operand of a dot or convolution.
struct BlockScalingSide {
  bool present = false;
  int64_t scale_operand = 0;
};
/// The attribute `block_scaling_config`.
struct BlockScalingConfig {
  BlockScalingSide lhs, rhs;
};

/// The attribute `domain`: the shardings on both sides of a `domain` instruction.
struct Domain {
  const Sharding* entry = nullptr;
  const Sharding* exit = nullptr;
};

/// A string or a JSON value (text-format 1.8). JSON text includes its outer braces.
struct Json {
  std::string_view text;
};

/// Maps the value kinds of attributes.def to C++ types.
namespace attr_kind {
using Bool = bool;
using Int = int64_t;
using Int32 = int64_t;  ///< An int64_t that the reader checks to fit 32 bits.
using Float = double;
using String = std::string_view;
using Json = hlo::Json;
using IntList = hlo::IntList;
using IntLists = hlo::IntLists;
using BoolList = hlo::BoolList;
using Computation = hlo::Computation*;
using ComputationList = absl::Span<hlo::Computation* const>;
using InstructionList = absl::Span<hlo::Instruction* const>;
using Shape = const hlo::Shape*;
using ShapeList = absl::Span<const hlo::Shape* const>;
using Literal = const hlo::Literal*;
using Window = hlo::Window;
using DimLabels = const hlo::DimLabels*;
using PaddingList = absl::Span<const PaddingDim>;
using SliceList = absl::Span<const SliceRange>;
using PrecisionList = absl::Span<const Precision>;
using AliasList = absl::Span<const OutputOperandAlias>;
using Sharding = const hlo::Sharding*;
using FrontendAttributes = const hlo::FrontendAttributes*;
using Statistics = const hlo::Statistics*;
using Origin = const hlo::Origin*;
using Metadata = const hlo::Metadata*;
using ReplicaGroups = const hlo::ReplicaGroups*;
using ResultAccuracy = const hlo::ResultAccuracy*;
using SparsityConfig = const hlo::SparsityConfig*;
using BlockScalingConfig = const hlo::BlockScalingConfig*;
using Domain = const hlo::Domain*;
using ComparisonDirection = hlo::ComparisonDirection;
using ComparisonOrder = hlo::ComparisonOrder;
using ComparisonType = hlo::ComparisonType;
using FftType = hlo::FftType;
using FusionKind = hlo::FusionKind;
using RandomDistribution = hlo::RandomDistribution;
using RngAlgorithm = hlo::RngAlgorithm;
using PrecisionAlgorithm = hlo::PrecisionAlgorithm;
using ConvolutionKind = hlo::ConvolutionKind;
using TransposeA = hlo::TransposeA;
using PaddingType = hlo::PaddingType;
using CustomCallSchedule = hlo::CustomCallSchedule;
using ApiVersion = hlo::ApiVersion;
using AllReduceMode = hlo::AllReduceMode;
using ShuffleMode = hlo::ShuffleMode;
}  // namespace attr_kind

/// The value kinds of attributes.def; attr_kind has their C++ types.
enum class AttrKind : uint8_t {
  kBool,
  kInt,
  kInt32,
  kFloat,
  kString,
  kJson,
  kIntList,
  kIntLists,
  kBoolList,
  kComputation,
  kComputationList,
  kInstructionList,
  kShape,
  kShapeList,
  kLiteral,
  kWindow,
  kDimLabels,
  kPaddingList,
  kSliceList,
  kPrecisionList,
  kAliasList,
  kSharding,
  kFrontendAttributes,
  kStatistics,
  kOrigin,
  kMetadata,
  kReplicaGroups,
  kResultAccuracy,
  kSparsityConfig,
  kBlockScalingConfig,
  kDomain,
  kComparisonDirection,
  kComparisonOrder,
  kComparisonType,
  kFftType,
  kFusionKind,
  kRandomDistribution,
  kRngAlgorithm,
  kPrecisionAlgorithm,
  kConvolutionKind,
  kTransposeA,
  kPaddingType,
  kCustomCallSchedule,
  kApiVersion,
  kAllReduceMode,
  kShuffleMode
};

/// The attributes of attributes.def.
enum class AttrId : uint8_t {
#define HLO_ATTR(id, spelling, kind) id,
#include "hlo_run/attributes.def"
#undef HLO_ATTR
  kNone
};
inline constexpr int kAttrCount = static_cast<int>(AttrId::kNone);

/// The row of an attribute in attributes.def.
struct AttrInfo {
  std::string_view spelling;
  AttrKind kind;
};
const AttrInfo& Info(AttrId id);

/// Tag types such as attr::dimensions, the template arguments of Instruction::Get and Has.
namespace attr {
#define HLO_ATTR(attr_name, spelling, kind)          \
  struct attr_name {                                 \
    static constexpr AttrId kId = AttrId::attr_name; \
    using Type = attr_kind::kind;                    \
  };
#include "hlo_run/attributes.def"
#undef HLO_ATTR
}  // namespace attr

/// A type-erased attribute value in 16 bytes: a number, or a pointer and a length. The attribute's kind gives
/// the type.
class AttrValue {
 public:
  AttrValue() = default;
  template <class T>
  static AttrValue Of(T value) {
    AttrValue result;
    if constexpr (std::is_floating_point_v<T>)
      result.number_ = value;
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      result.integer_ = static_cast<int64_t>(value);
    else if constexpr (std::is_pointer_v<T>)
      result.pointer_ = value;
    else if constexpr (std::is_same_v<T, Json>)
      return Of(value.text);
    else {  // A span or string_view.
      result.pointer_ = value.data();
      result.size_ = value.size();
    }
    return result;
  }
  template <class T>
  T As() const {
    if constexpr (std::is_floating_point_v<T>)
      return number_;
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
      return static_cast<T>(integer_);
    else if constexpr (std::is_pointer_v<T>)
      return const_cast<T>(static_cast<const std::remove_pointer_t<T>*>(pointer_));
    else if constexpr (std::is_same_v<T, Json>)
      return Json{As<std::string_view>()};
    else
      return T(static_cast<typename T::const_pointer>(pointer_), size_);
  }

 private:
  union {
    int64_t integer_;
    double number_;
    const void* pointer_ = nullptr;
  };
  size_t size_ = 0;
};

/// An attribute of an instruction.
struct AttrEntry {
  AttrId id = AttrId::kNone;
  SourceRange range;  ///< Spans the attribute's name and value.
  AttrValue value;
};

}  // namespace hlo
#pragma GCC visibility pop
