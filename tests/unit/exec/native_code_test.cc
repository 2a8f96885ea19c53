// Tests machine code of bytecode against the interpreter: each opcode on edge values, and random programs
// with loops, branches, arguments that alias the frame, and a host that changes it.

#include "kernels/cpu/bytecode/native_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "guarded_memory.h"
#include "kernels/cpu/bytecode/decode.h"
#include "kernels/cpu/bytecode/opcodes.h"
#include "kernels/cpu/elementwise/small_tiles.h"

namespace hlo::cpu::native_code_test {
namespace {

using Bytes = Bytecode::Bytes;

// The frame has areas of 16 scalars of 8 bytes: predicates, integers, floats. Scalars of 4 bytes are at any
// multiple of 4. Counters, limits and predicates of loops follow.
constexpr int kScalars = 16, kArea = 8 * kScalars;
constexpr FrameOffset kPreds = 0, kIntegers = kArea, kFloats = 2 * kArea, kDoubles = 3 * kArea,
                      kLongs = 4 * kArea, kCounters = 5 * kArea, kFrameBytes = 6 * kArea;
constexpr FrameOffset kLimit = kFrameBytes - 8, kOne = kFrameBytes - 16, kShift = kFrameBytes - 24;

using Frame = std::vector<std::byte>;

// There is one NaN, because the sum of two NaNs may be either of them. It is the one that instructions make.

template <class T>
std::vector<T> EdgeValues() {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {T{0},
            -T{0},
            T{1},
            -T{1},
            T{0.75},
            T{-2.5},
            T{3},
            Limits::max(),
            Limits::min(),
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::infinity(),
            -Limits::infinity(),
            -Limits::quiet_NaN(),
            T{1e-3},
            T{88.5},
            T{1e9},
            T{-1e20}};
  } else {
    using Limits = std::numeric_limits<T>;
    return {T{0},          T{1},          static_cast<T>(-1),
            T{2},          T{5},          T{31},
            T{32},         T{33},         T{63},
            T{64},         T{65},         T{100},
            Limits::min(), Limits::max(), static_cast<T>(0x5a5a5a5a5a5a5a5a)};
  }
}

template <class T>
void Fill(Frame& frame, FrameOffset begin, std::mt19937& random) {
  const std::vector<T> values = EdgeValues<T>();
  for (int at = 0; at < kArea; at += sizeof(T))
    Put(frame.data() + begin + at, values[random() % values.size()]);
}

Frame RandomFrame(uint32_t seed) {
  std::mt19937 random(seed);
  Frame frame(kFrameBytes);
  for (int k = 0; k < kArea; ++k) frame[kPreds + k] = static_cast<std::byte>(random() % 2);
  Fill<int32_t>(frame, kIntegers, random);
  Fill<float>(frame, kFloats, random);
  Fill<double>(frame, kDoubles, random);
  Fill<int64_t>(frame, kLongs, random);
  Put(frame.data() + kLimit, int32_t{4});
  Put(frame.data() + kOne, int32_t{1});
  Put(frame.data() + kShift, int64_t{13});
  return frame;
}

// The area in which operands of a kind live.
FrameOffset AreaOf(const std::string& type, int32_t bytes) {
  if (bytes == 1) return kPreds;
  if (type == "F32") return kFloats;
  if (type == "F64") return kDoubles;
  return bytes == 8 ? kLongs : kIntegers;
}

// An opcode on scalars with the areas of its operands.
struct Kind {
  uint16_t code;
  std::string name;
  struct Operand {
    FrameOffset area = 0;
    int32_t bytes = 0;
  } out, in[3];
};

const std::vector<Kind>& Kinds() {
  static const auto& kinds = *[] {
    auto* all = new std::vector<Kind>;
    const auto operand = [](const std::string& type, int32_t bytes) {
      return Kind::Operand{AreaOf(type, bytes), bytes};
    };
#define HLO_ROW(name, opcode, F, K, type)    \
  all->push_back({k##name##K,                \
                  #name #K,                  \
                  operand(#K, sizeof(type)), \
                  {operand(#K, sizeof(type)), operand(#K, sizeof(type)), {}}});
    HLO_OPERATIONS(HLO_ROW)
    HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, K, type)        \
  all->push_back({k##name##K,         \
                  #name #K,           \
                  operand("Pred", 1), \
                  {operand(#K, sizeof(type)), operand(#K, sizeof(type)), {}}});
    HLO_COMPARISONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(From, from, To, to)         \
  all->push_back({kConvert##From##To,       \
                  "Convert" #From #To,      \
                  operand(#To, sizeof(to)), \
                  {operand(#From, sizeof(from)), {}, {}}});
    HLO_CONVERSIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(name, operands) \
  all->push_back({k##name##BF16, #name "BF16", {kFloats, 4}, {{kFloats, 4}, {kFloats, 4}, {}}});
    HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
// Widening would make several NaNs.
#define HLO_ROW(K, type)                                                         \
  all->push_back({kRound##K, "Round" #K, {kFloats, 4}, {{kFloats, 4}, {}, {}}}); \
  all->push_back({kNarrow##K, "Narrow" #K, {kIntegers, 2}, {{kFloats, 4}, {}, {}}});
    HLO_HALVES(HLO_ROW)
#undef HLO_ROW
    for (const auto& [area, bytes] :
         {std::pair(kFloats, 4), std::pair(kIntegers, 4), std::pair(kDoubles, 8), std::pair(kLongs, 8)}) {
      all->push_back({static_cast<uint16_t>(bytes == 4 ? kSelect4 : kSelect8),
                      "Select",
                      {area, bytes},
                      {{kPreds, 1}, {area, bytes}, {area, bytes}}});
      all->push_back({static_cast<uint16_t>(bytes == 4 ? kCopy4 : kCopy8),
                      "Copy",
                      {area, bytes},
                      {{area, bytes}, {}, {}}});
    }
    all->push_back({kSelect1, "Select1", {kPreds, 1}, {{kPreds, 1}, {kPreds, 1}, {kPreds, 1}}});
    all->push_back({kSelect2, "Select2", {kIntegers, 2}, {{kPreds, 1}, {kIntegers, 2}, {kIntegers, 2}}});
    all->push_back({kCopy1, "Copy1", {kPreds, 1}, {{kPreds, 1}, {}, {}}});
    all->push_back({kCopy2, "Copy2", {kIntegers, 2}, {{kIntegers, 2}, {}, {}}});
    // Copies between areas.
    all->push_back({kCopy4, "Copy4", {kIntegers, 4}, {{kFloats, 4}, {}, {}}});
    all->push_back({kCopy4, "Copy4", {kFloats, 4}, {{kIntegers, 4}, {}, {}}});
    all->push_back({kCopy8, "Copy8", {kLongs, 8}, {{kDoubles, 8}, {}, {}}});
    all->push_back({kCopy8, "Copy8", {kIntegers, 8}, {{kDoubles, 8}, {}, {}}});
    return all;
  }();
  return kinds;
}

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  int Below(int limit) { return static_cast<int>(random_() % limit); }
  // Few places, so that operations depend on each other.
  FrameOffset Place(const Kind::Operand& operand) {
    const int limit = Below(8) == 0 ? kArea / operand.bytes : 4;
    return operand.bytes == 0 ? 0
                              : operand.area + operand.bytes * Below(std::min(limit, kArea / operand.bytes));
  }
  void Add(const Bytecode::Op& op) { BytecodeParts::Ops(code).push_back(op); }
  void Operation(const Kind& kind) {
    const auto place = [&](const Kind::Operand& operand) { return operand.bytes == 0 ? 0 : Place(operand); };
    Bytecode::Op op{.code = kind.code,
                    .out = Place(kind.out),
                    .a = place(kind.in[0]),
                    .b = place(kind.in[1]),
                    .c = place(kind.in[2])};
    // Results of floats in the area of integers.
    if (Below(16) == 0 && (kind.out.area == kFloats || kind.out.area == kDoubles))
      op.out += kind.out.area == kFloats ? kIntegers - kFloats : kLongs - kDoubles;
    // Constants.
    if (kind.in[1].bytes > 0 && kind.in[1].area == kIntegers && Below(4) == 0)
      op.b = Below(2) == 0 ? kOne : kShift;
    if (kind.code <= kSelect8 && Below(6) == 0 && IsRoom(op, kind, 3)) op.count = 2 + Below(2);
    Add(op);
  }
  // The operation on an array.
  void Vector(const Kind& kind) {
    Bytecode single;
    BytecodeParts::Ops(single).push_back({.code = kind.code});
    const TileCall call = Decode(single, 0).call;
    if (call.function == nullptr) return;
    const auto widest = std::max({kind.out.bytes, kind.in[0].bytes, kind.in[1].bytes});
    const int count = 7 + Below(kArea / widest - 6);
    const auto place = [&](const Kind::Operand& operand) {
      return operand.bytes == 0 ? 0 : operand.area + operand.bytes * Below(kArea / operand.bytes - count + 1);
    };
    const FrameOffset in[] = {place(kind.in[0]), place(kind.in[1]), place(kind.in[2])};
    FrameOffset out = place(kind.out);
    // A result does not overlap an operand partially.
    for (int k = 0; k < 3; ++k) {
      if (kind.in[k].bytes == 0 || kind.in[k].area != kind.out.area) continue;
      out = in[k];
      for (int other = 0; other < 3; ++other) {
        const bool apart =
            kind.in[other].bytes == 0 || kind.in[other].area != kind.out.area || in[other] == out;
        if (!apart) return;
      }
    }
    BytecodeParts::Tiles(code).push_back(
        {call, count, {kind.out.bytes, {kind.in[0].bytes, kind.in[1].bytes, kind.in[2].bytes}}});
    Add({.code = kCall,
         .out = out,
         .a = in[0],
         .b = in[1],
         .c = in[2],
         .number = static_cast<int64_t>(BytecodeParts::Tiles(code).size()) - 1});
  }
  // Adds a call of operands at places that do not overlap.
  void Call(const TileCall& call, int64_t count, const Bytecode::CallWidths& widths, FrameOffset out,
            FrameOffset a, FrameOffset b = 0) {
    BytecodeParts::Tiles(code).push_back({call, count, widths});
    Add({.code = kCall,
         .out = out,
         .a = a,
         .b = b,
         .number = static_cast<int64_t>(BytecodeParts::Tiles(code).size()) - 1});
  }
  // Operations on arrays that are not elementwise.
  void Array() {
    const bool is_double = Below(3) == 0;
    const int width = is_double ? 8 : 4;
    switch (Below(5)) {
      case 4: {
        const ElementType types[] = {ElementType::kF32, ElementType::kF64, ElementType::kS32};
        const FrameOffset areas[] = {kFloats, kDoubles, kIntegers};
        const int k = Below(3), bytes = static_cast<int>(ByteCount(types[k]));
        const Opcode opcodes[] = {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum};
        const int count = 1 + Below(kArea / bytes);
        return Call(FindRowsFold(opcodes[Below(3)], types[k], count), 1, {bytes, {bytes, 0, 0}, count},
                    k == 2 ? kLongs : kIntegers, areas[k]);
      }
      case 3: {
        const int count = 1 + Below(64);
        return Call(BitsTile(random_()), count, {1, {}}, kPreds, kPreds);
      }
      case 0: {
        const TileRows rows{1 + Below(6), Below(5), Below(5)};
        const int64_t count = 1 + Below(kArea / width);
        // Floats and doubles are adjacent.
        const FrameOffset from = is_double ? kDoubles : kFloats;
        if (rows.Extent(count) * width <= (is_double ? 1 : 2) * kArea)
          Call(RowsTile(width, rows), count, {width, {width, 0, 0}, rows.Extent(count)},
               is_double ? kLongs : kIntegers, from);
        return;
      }
      case 1: {
        const ComputeType types[] = {ComputeType::kPred, ComputeType::kS32, ComputeType::kF32,
                                     ComputeType::kF64, ComputeType::kU64};
        const FrameOffset areas[] = {kPreds, kIntegers, kFloats, kDoubles, kLongs};
        const int k = Below(5);
        const auto bytes = static_cast<int32_t>(ComputeTypeBytes(types[k]));
        return Call(IotaTile(types[k], k == 0 ? Below(2) : Below(9) - 4, k == 0 ? 0 : Below(5) - 2),
                    1 + Below(kArea / bytes), {bytes, {}}, areas[k], areas[k]);
      }
      default: {
        const ComputeType compute_type = is_double ? ComputeType::kF64 : ComputeType::kF32;
        const int count = 2 + Below(kArea / width - 2);
        const FrameOffset from = is_double ? kDoubles : kFloats, at = kIntegers + 4 * Below(8);
        Call(ArgMinMaxTile(compute_type, ComputeType::kS32, Below(2) == 0, count), 1,
             {4, {width, 0, 0}, count}, at, from);
        return Call(TakeTile(compute_type, ComputeType::kS32, Below(2) == 0, count), 1,
                    {width, {width, 4, 0}, count}, kLongs + 8 * Below(8), from, at);
      }
    }
  }
  void Move() {
    // Integers that become floats could be other NaNs.
    const FrameOffset areas[] = {kIntegers, kLongs, kFloats, kDoubles};
    const int from = Below(4), to = from < 2 || Below(2) == 0 ? Below(2) : from;
    // Parts of floats could be other NaNs.
    const int step = to < 2 ? 1 : 8;
    const FrameOffset out = areas[to] + (to < 2 ? 4 * Below(8) : 8 * Below(4)),
                      in = areas[from] + (to < 2 ? 4 * Below(8) : 8 * Below(4));
    const int bytes = (Below(Below(3) == 0 ? 90 : 40) / step + 1) * step;
    switch (Below(4)) {
      case 0:
        if (out + bytes <= in || in + bytes <= out) code.Copy(out, in, bytes);
        break;
      case 1:
        Add({.code = static_cast<uint16_t>(to < 2 ? kSplat4 : kSplat8),
             .out = out,
             .a = in,
             .number = 1 + Below(to < 2 ? 24 : 12)});
        break;
      case 2:
        Dot();
        break;
      default:
        Far(out, 4 * (1 + Below(6)), Below(2));
    }
  }
  // Products of matrices, and of vectors.
  void Dot() {
    loops::GemmProblem problem;
    problem.m = 1 + Below(3);
    problem.n = 1 + Below(Below(2) == 0 ? 3 : 16);
    problem.k = 1 + Below(9);
    if (Below(3) == 0) std::swap(problem.m, problem.n);
    const bool is_double = Below(3) == 0;
    const int width = is_double ? 8 : 4, bytes = width * 16;
    problem.a.type = problem.b.type = problem.c_type = is_double ? ElementType::kF64 : ElementType::kF32;
    // Operands of up to 16 numbers.
    if (problem.m * problem.k > 16 || problem.n * problem.k > 16 || problem.m * problem.n > 16)
      problem.m = problem.n = 1;
    problem.a.row_stride = Below(2) == 0 ? problem.k : 1;
    problem.a.column_stride = problem.a.row_stride == 1 ? problem.m : 1;
    problem.b.row_stride = Below(2) == 0 ? problem.n : 1;
    problem.b.column_stride = problem.b.row_stride == 1 ? problem.k : 1;
    const FrameOffset area = is_double ? kDoubles : kFloats;
    if (is_double && problem.m * problem.k + problem.n * problem.k > 12) return;
    const FrameOffset a = area,
                      b = is_double ? area + 8 * static_cast<int>(problem.m * problem.k) : area + bytes;
    const FrameOffset out = is_double ? area + kArea - 8 * 4 : kLongs + 4 * Below(8);
    if (is_double && problem.m * problem.n > 4) return;
    code.Dot(*SmallDot::Make(problem),
             {width * problem.m * problem.n, width * problem.m * problem.k, width * problem.n * problem.k},
             out, a, b);
  }
  // Moves from and to memory outside of the frame (argument 0) and in the area of integers (argument 1).
  void Far(FrameOffset place, int bytes, int argument) {
    const FrameOffset address = kCounters + 32 + 8 * Below(2), index = kIntegers + 4 * Below(4);
    const int max = (kArea - bytes) / 4;
    if (argument == 1 && place < kIntegers + kArea && place + bytes > kIntegers) return;
    if (Below(3) == 0) {
      const Bytecode::Label outside = code.NewLabel();
      code.CheckedAddress(address, Below(2) == 0, Below(4) == 0 ? kLongs : index,
                          Below(2) == 0 ? ElementType::kS32 : ElementType::kU32, max, 4, outside);
      code.Bind(outside);
      return;
    }
    code.Address(address, false, index, Below(4) == 0 ? ElementType::kU32 : ElementType::kS32, max / 2, 4);
    if (Below(3) == 0) code.Address(address, true, index, ElementType::kS32, max - max / 2, 4);
    const FrameOffset at = Below(2) == 0 ? Bytecode::kNoAddress : address;
    const bool loads = place < kFloats || place >= kLongs ? Below(2) == 0 : false;
    // Some loads overwrite their own address.
    const FrameOffset to = at != Bytecode::kNoAddress && Below(4) == 0 ? at : place;
    loads ? code.Load(to, argument, 0, at, bytes) : code.Store(place, argument, 0, at, bytes);
  }
  void CallTile() {
    const bool on_memory = Below(3) == 0;
    const TileCall call = FindTileOp(Opcode::kAdd, ElementType::kS32);
    if (on_memory) {
      const Bytecode::MemoryOperand all = {Below(2), 0, Bytecode::kNoAddress, 4};
      code.CallOnMemory({call, 8, all, {all, all, {}}});
      return;
    }
    code.Call(call, 10, {4, {4, 4, 4}}, kIntegers, {kIntegers, kIntegers + 64, 0});
  }
  void Any(int depth) {
    const int kind = Below(40);
    if (kind == 0) return CallTile();
    if (kind == 1 && depth < 3) return Loop(depth);
    if (kind == 2 && depth < 5) return Branch(depth);
    if (kind == 3 && escapes) return code.Escape(Below(3));
    if (kind < 8) return Move();
    if (kind < 10) return Compared();
    if (kind < 12) return Array();
    const Kind& any = Kinds()[Below(static_cast<int>(Kinds().size()))];
    const bool is_float = any.out.area == kFloats || any.out.area == kDoubles;
    const bool makes_nan = (any.code >= kCosineF32 && any.code <= kTanhF32 && any.code != kExponentialF32) ||
                           any.name.starts_with("Negate") || any.name.starts_with("Abs") ||
                           (is_float && any.name.starts_with("Copy") && any.in[0].area != any.out.area);
    if (!makes_nan) Below(6) == 0 ? Vector(any) : Operation(any);
  }
  // A comparison whose result is selected by.
  void Compared() {
    const uint16_t codes[] = {kLtS32, kGeF32, kEqF64, kNeF32, kLtF64};
    const uint16_t compare = codes[Below(5)];
    const FrameOffset flag = kPreds + Below(4);
    const bool is_double = compare == kEqF64 || compare == kLtF64;
    const FrameOffset from = compare == kLtS32 ? kIntegers : is_double ? kDoubles : kFloats;
    const int width = is_double ? 8 : 4;
    Add({.code = compare, .out = flag, .a = from + width * Below(4), .b = from + width * Below(4)});
    const FrameOffset area = Below(2) == 0 ? kFloats : kIntegers;
    Add({.code = kSelect4,
         .out = area + 4 * Below(4),
         .a = flag,
         .b = area + 4 * Below(4),
         .c = area + 4 * Below(4)});
    Add({.code = kCopy1, .out = flag, .a = kPreds + 8});
  }
  void Many(int depth, int limit) {
    for (int k = Below(limit); k >= 0; --k) Any(depth);
  }
  void Loop(int depth) {
    const FrameOffset counter = kCounters + 4 * depth, flag = kCounters + 16 + depth;
    code.Copy(counter, kCounters + 28, 4);
    const Bytecode::Label body = code.NewLabel(), test = code.NewLabel();
    const bool tests_first = Below(2) == 0;
    if (tests_first) code.Jump(test);
    code.Bind(body);
    Many(depth + 1, depth == 0 ? 20 : 8);
    code.Bind(test);
    Add({.code = kAddS32, .out = counter, .a = counter, .b = kOne});
    Add({.code = kLtS32, .out = flag, .a = counter, .b = kLimit});
    if (Below(4) == 0) Add({.code = kAndPred, .out = flag, .a = flag, .b = kPreds + Below(4)});
    code.Repeat(flag, body);
  }
  void Branch(int depth) {
    const Bytecode::Label other = code.NewLabel(), end = code.NewLabel();
    if (Below(2) == 0)
      code.JumpUnless(kPreds + Below(4), other);
    else
      code.JumpTo(kIntegers + 4 * Below(4), {other, end, other});
    Many(depth + 1, 6);
    code.Jump(end);
    code.Bind(other);
    Many(depth + 1, 6);
    code.Bind(end);
  }

  Bytecode code;
  bool escapes = false;

 private:
  // Returns true if `count` elements are in the areas, and the result overlaps no operand partially.
  static bool IsRoom(const Bytecode::Op& op, const Kind& kind, int count) {
    const auto fits = [&](FrameOffset at, const Kind::Operand& operand) {
      const bool apart =
          at == op.out || at + count * operand.bytes <= op.out || op.out + count * kind.out.bytes <= at;
      return operand.bytes == 0 ||
             (at + count * operand.bytes <= operand.area + kArea && at < kCounters && apart);
    };
    return fits(op.out, kind.out) && fits(op.a, kind.in[0]) && fits(op.b, kind.in[1]) &&
           fits(op.c, kind.in[2]);
  }

  std::mt19937 random_;
};

struct Memory {
  Memory(uint32_t seed, GuardedMemory::Place place)
      : frame(RandomFrame(seed), place), far(FarArea(seed + 1), place) {
    arguments[0] = far.data();
    arguments[1] = frame.data() + kIntegers;
  }
  Memory(const Memory&) = delete;
  static Frame FarArea(uint32_t seed) {
    Frame area = RandomFrame(seed);
    area.resize(kArea);
    return area;
  }
  GuardedMemory frame, far;
  void* arguments[2];
};

// The host's view of a run.
struct HostLog {
  explicit HostLog(size_t loop_count) : iterations(loop_count) {}
  int calls = 0;
  std::vector<int64_t> iterations;
  std::vector<std::vector<int64_t>> seen;  // The iterations at each call.
};

// Runs the code in both ways, with iteration counters for half of the seeds.
void Compare(const Bytecode& code, const FrameUse& use, uint32_t seed, const std::vector<Bytes>& results,
             const std::string& what) {
  const bool counts = seed / 4 % 2 == 1;
  const auto native = NativeCode::Make(code, use, counts);
  ASSERT_NE(native, nullptr) << what;
  const Bytecode interpreted = counts ? code.WithCounts() : code;
  const auto& ops = BytecodeParts::Ops(code);
  const auto loop_count =
      std::count_if(ops.begin(), ops.end(), [](const auto& op) { return op.code == kRepeat; });
  const auto place = seed / 8 % 2 == 0 ? GuardedMemory::Place::kBegin : GuardedMemory::Place::kEnd;
  Memory want(seed, place), got(seed, place);
  HostLog want_log(loop_count), got_log(loop_count);
  const auto host = [](Memory& memory, HostLog& log) {
    return [&](int32_t number) {
      if (number == Bytecode::kPolled) return true;
      log.seen.push_back(log.iterations);
      const int calls = ++log.calls;
      Put(memory.frame.data() + kFloats + 4 * number, static_cast<float>(calls));
      Put(memory.frame.data() + kIntegers + 4 * number,
          Get<uint32_t>(memory.frame.data() + kIntegers) + static_cast<uint32_t>(calls));
      return calls < 20;
    };
  };
  const bool want_end =
      interpreted.Run(want.frame.data(), want.arguments, host(want, want_log), want_log.iterations.data());
  const bool got_end =
      native->Run(got.frame.data(), got.arguments, host(got, got_log), got_log.iterations.data());
  ASSERT_EQ(got_end, want_end) << what;
  ASSERT_EQ(got_log.seen, want_log.seen) << what;
  ASSERT_EQ(got_log.iterations, want_log.iterations) << what;
  ASSERT_EQ(got.far.Bytes(), want.far.Bytes()) << what;
  if (!want_end) return;
  for (const Bytes& range : results) {
    for (int64_t k = range.begin; k < range.begin + range.count; ++k)
      ASSERT_EQ(got.frame.data()[k], want.frame.data()[k]) << what << ", byte " << k;
  }
}

FrameUse::Constant ConstantAt(const Frame& frame, FrameOffset at) {
  return {at, absl::MakeConstSpan(frame).subspan(at, 4)};
}

TEST(NativeCode, EachOperationHasTheBitsOfTheInterpreter) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  const Frame constants = RandomFrame(0);
  FrameUse use;
  use.constants = {ConstantAt(constants, kOne), ConstantAt(constants, kShift), ConstantAt(constants, kLimit)};
  for (const Kind& kind : Kinds()) {
    for (uint32_t seed = 0; seed < 100; ++seed) {
      Program program(seed);
      // The loop runs the operation more than once.
      const Bytecode::Label body = program.code.NewLabel();
      program.code.Bind(body);
      seed % 4 == 3 ? program.Vector(kind) : program.Operation(kind);
      program.Add({.code = kAddS32, .out = kCounters, .a = kCounters, .b = kOne});
      program.Add({.code = kLtS32, .out = kCounters + 16, .a = kCounters, .b = kLimit});
      program.code.Repeat(kCounters + 16, body);
      program.code.Finish();
      Compare(program.code, use, seed, {{0, kFrameBytes}}, kind.name + ", seed " + std::to_string(seed));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(NativeCode, OperationsOnArraysHaveTheBitsOfTheInterpreter) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Program program(seed);
    const Bytecode::Label body = program.code.NewLabel();
    program.code.Bind(body);
    program.Array();
    program.Array();
    program.Add({.code = kAddS32, .out = kCounters, .a = kCounters, .b = kOne});
    program.Add({.code = kLtS32, .out = kCounters + 16, .a = kCounters, .b = kLimit});
    program.code.Repeat(kCounters + 16, body);
    program.code.Finish();
    Compare(program.code, {}, seed, {{0, kFrameBytes}}, "seed " + std::to_string(seed));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// All lengths, and NaNs of both signs.
TEST(NativeCode, SelectionsAndExtremesOfArraysHaveTheBitsOfTheInterpreter) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  struct Operation {
    TileCall call;
    int32_t width;
    bool selects;
  };
  std::vector<Operation> operations;
  for (const ElementType type : {ElementType::kF32, ElementType::kF64}) {
    const auto width = static_cast<int32_t>(ByteCount(type));
    operations.push_back({FindTileCall(loops::SelectOf(type)), width, true});
    for (const Opcode opcode : {Opcode::kMaximum, Opcode::kMinimum})
      operations.push_back({FindTileOp(opcode, type), width, false});
  }
  std::mt19937 random(1);
  const auto fill = [&]<class T>(Frame& frame, T) {
    const T numbers[] = {T{0},
                         -T{0},
                         T{1},
                         T{-2.5},
                         std::numeric_limits<T>::quiet_NaN(),
                         -std::numeric_limits<T>::quiet_NaN()};
    for (const FrameOffset area : {kFloats, kDoubles}) {
      for (int at = 0; at < kArea; at += sizeof(T)) Put(frame.data() + area + at, numbers[random() % 6]);
    }
  };
  for (const auto& [call, width, selects] : operations) {
    for (int count = 1; count <= kArea / width; ++count) {
      Program program(0);
      const Bytecode::CallWidths widths = selects ? Bytecode::CallWidths{width, {1, width, width}}
                                                  : Bytecode::CallWidths{width, {width, width, 0}};
      BytecodeParts::Tiles(program.code).push_back({call, count, widths});
      program.Add({.code = kCall,
                   .out = kLongs,
                   .a = selects ? kPreds : kFloats,
                   .b = selects ? kFloats : kDoubles,
                   .c = selects ? kDoubles : 0});
      const Bytecode::Label body = program.code.NewLabel();
      program.code.Bind(body);
      program.code.Repeat(kCounters, body);
      program.code.Finish();
      const auto native = NativeCode::Make(program.code, {});
      ASSERT_NE(native, nullptr);
      for (int run = 0; run < 50; ++run) {
        Frame want = RandomFrame(random());
        width == 4 ? fill(want, 0.0f) : fill(want, 0.0);
        Put(want.data() + kCounters, false);
        Frame got = want;
        ASSERT_TRUE(program.code.Run(want.data(), nullptr, [](int32_t) { return true; }));
        ASSERT_TRUE(native->Run(got.data(), nullptr, [](int32_t) { return true; }));
        ASSERT_EQ(got, want) << count << " elements of " << width << " bytes";
      }
    }
  }
}

TEST(NativeCode, FunctionsHaveTheBitsOfTheInterpreterForFloatsOfAllMagnitudes) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  std::mt19937 random(1);
  const std::pair<Code, Opcode> functions[] = {
#define HLO_ROW(name, opcode, F, K, type) {k##name##K, Opcode::k##opcode},
      HLO_FUNCTIONS(HLO_ROW)
#undef HLO_ROW
  };
  for (const auto& [code, opcode] : functions) {
    // The code computes an array and a scalar.
    constexpr int kCount = 31;
    Program program(0);
    BytecodeParts::Tiles(program.code)
        .push_back({FindTileOp(opcode, ElementType::kF32), kCount, {4, {4, 4, 4}}});
    program.Add({.code = kCall, .out = kIntegers, .a = kFloats, .b = kFloats + 4, .c = kFloats});
    const FrameOffset last = kFloats + 4 * kCount;
    program.Add({.code = code, .out = kIntegers + 4 * kCount, .a = last, .b = last - 4});
    const Bytecode::Label body = program.code.NewLabel();
    program.code.Bind(body);
    program.code.Repeat(kPreds, body);
    program.code.Finish();
    const auto native = NativeCode::Make(program.code, {});
    ASSERT_NE(native, nullptr);
    for (int run = 0; run < 20000; ++run) {
      Frame want(kFrameBytes), got(kFrameBytes);
      for (int k = 0; k <= kCount; ++k) {
        float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
        if (run % 2 == 0) x = std::fmod(x, 100.0f);
        Put(want.data() + kFloats + 4 * k, x != x ? 1.0f : x);
      }
      got = want;
      ASSERT_TRUE(program.code.Run(want.data(), nullptr, [](int32_t) { return true; }));
      ASSERT_TRUE(native->Run(got.data(), nullptr, [](int32_t) { return true; }));
      for (int k = 0; k <= kCount; ++k) {
        ASSERT_EQ(Get<uint32_t>(got.data() + kIntegers + 4 * k),
                  Get<uint32_t>(want.data() + kIntegers + 4 * k))
            << Name(opcode) << " of " << Get<float>(want.data() + kFloats + 4 * k);
      }
    }
  }
}

TEST(NativeCode, HalvesHaveTheBitsOfTileOperations) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  struct Half {
    Code code;
    TileCall tile;
    int32_t bytes;  // Of the operands.
  };
  const Half halves[] = {
#define HLO_ROW(name, operands) {k##name##BF16, FindRoundedTileOp(Opcode::k##name, ElementType::kBF16), 4},
      HLO_ROUNDED_OPERATIONS(HLO_ROW)
#undef HLO_ROW
#define HLO_ROW(K, type)                                                                     \
  {kWiden##K, LoadTile(ElementType::k##K), 2}, {kRound##K, RoundTile(ElementType::k##K), 4}, \
      {kNarrow##K, StoreRoundedTile(ElementType::k##K), 4},
          HLO_HALVES(HLO_ROW)
#undef HLO_ROW
  };
  std::mt19937 random(1);
  for (const Half& half : halves) {
    Program program(0);
    const bool is_rounded = half.code == kNarrowBF16;
    program.Add({.code = half.code, .out = kIntegers, .a = kFloats, .b = kFloats + 4});
    const Bytecode::Label body = program.code.NewLabel();
    program.code.Bind(body);
    program.code.Repeat(kPreds, body);
    program.code.Finish();
    const auto native = NativeCode::Make(program.code, {});
    ASSERT_NE(native, nullptr);
    for (uint32_t run = 0; run < 1 << 16; ++run) {
      Frame interpreted(kFrameBytes);
      const auto bits = static_cast<uint32_t>(random());
      // One NaN at most, because a sum of two may be either of them.
      const auto other = static_cast<float>(run % 97) - 48;
      Put(interpreted.data() + kFloats, half.bytes == 2 ? run : is_rounded ? bits & 0xffff0000u : bits);
      Put(interpreted.data() + kFloats + 4, other);
      Frame native_frame = interpreted;
      ASSERT_TRUE(program.code.Run(interpreted.data(), nullptr, [](int32_t) { return true; }));
      ASSERT_TRUE(native->Run(native_frame.data(), nullptr, [](int32_t) { return true; }));
      uint32_t tile = 0;
      const void* operands[] = {interpreted.data() + kFloats, interpreted.data() + kFloats + 4};
      half.tile.function(1, &tile, operands, half.tile.parameter);
      ASSERT_EQ(Get<uint32_t>(interpreted.data() + kIntegers), tile) << half.code << " of " << bits;
      ASSERT_EQ(Get<uint32_t>(native_frame.data() + kIntegers), tile) << half.code << " of " << bits;
    }
  }
}

TEST(NativeCode, RandomProgramsHaveTheBitsOfTheInterpreter) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  const Frame constants = RandomFrame(0);
  // --gtest_random_seed=N gives other programs.
  const auto first = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)) * 3000;
  for (uint32_t seed = first; seed < first + 3000; ++seed) {
    Program program(seed);
    program.escapes = seed % 4 == 0;
    program.Many(0, 6);
    // Code without a loop that the host does not interrupt is not compiled.
    program.escapes = false;
    program.Loop(0);
    program.escapes = seed % 4 == 0;
    program.Many(0, 6);
    program.code.Finish();
    FrameUse use;
    std::vector<Bytes> results = {{0, kFrameBytes}};
    if (seed % 2 == 1) {
      use.arguments = {{0, 0}, {kIntegers, kArea}};
      use.private_begin = kDoubles;
      use.results = results = {{kFloats, 16}, {kIntegers, 8}};
    }
    if (seed % 3 != 0)
      use.constants = {ConstantAt(constants, kOne), ConstantAt(constants, kShift),
                       ConstantAt(constants, kLimit)};
    Compare(program.code, use, seed, results, "seed " + std::to_string(seed));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// The inner loop runs 700 times in each of 10 iterations of the outer one.
TEST(NativeCode, PollsSeeTheIterationsOfTheInterpreter) {
  if (FindNativeIsa() == NativeIsa::kNone) GTEST_SKIP() << "the system allows no machine code";
  constexpr FrameOffset kOuter = 0, kInner = 4, kZero = 8, kOnes = 12, kOuterLimit = 16, kInnerLimit = 20,
                        kGoesOn = 24, kBytes = 32;
  Bytecode code;
  const auto add = [&](const Bytecode::Op& op) { BytecodeParts::Ops(code).push_back(op); };
  const Bytecode::Label outer = code.NewLabel(), inner = code.NewLabel();
  code.Bind(outer);
  add({.code = kCopy4, .out = kInner, .a = kZero});
  code.Bind(inner);
  add({.code = kAddS32, .out = kInner, .a = kInner, .b = kOnes});
  add({.code = kLtS32, .out = kGoesOn, .a = kInner, .b = kInnerLimit});
  code.Repeat(kGoesOn, inner);
  add({.code = kAddS32, .out = kOuter, .a = kOuter, .b = kOnes});
  add({.code = kLtS32, .out = kGoesOn, .a = kOuter, .b = kOuterLimit});
  code.Repeat(kGoesOn, outer);
  code.Finish();
  const Bytecode interpreted = code.WithCounts();
  const auto native = NativeCode::Make(code, {}, /*counts=*/true);
  ASSERT_NE(native, nullptr);
  const auto polls_of = [&](const auto& runnable) {
    Frame frame(kBytes);
    Put(frame.data() + kOnes, int32_t{1});
    Put(frame.data() + kOuterLimit, int32_t{10});
    Put(frame.data() + kInnerLimit, int32_t{700});
    HostLog log(2);
    const auto host = [&](int32_t) {
      log.seen.push_back(log.iterations);
      return true;
    };
    EXPECT_TRUE(runnable.Run(frame.data(), nullptr, host, log.iterations.data()));
    EXPECT_EQ(log.iterations, std::vector<int64_t>(2));
    return log.seen;
  };
  const auto polls = polls_of(*native);
  EXPECT_EQ(polls.size(), 6u);
  EXPECT_EQ(polls, polls_of(interpreted));
}

}  // namespace
}  // namespace hlo::cpu::native_code_test
