#include "plan/bytecode/compiler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/loops/small_program.h"
#include "plan/analysis/window_update.h"
#include "plan/bytecode/frame_allocator.h"
#include "plan/bytecode/load_cse.h"
#include "plan/bytecode/stable_slots.h"
#include "plan/cpu/plan_code.h"
#include "plan/memory/aliasing.h"
#include "plan/select/library_kernels.h"
#include "plan/select/window_moves.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cpu::FrameOffset;
using cpu::SmallProgram;

constexpr int64_t kMaxWindowBytes = 256;
// The limit for the operand of a scatter that is not in place.
constexpr int64_t kMaxCopiedOperand = 1024;
// The limit for each array of a dot. Larger ones must be in the frame, and the dot in a loop.
constexpr int64_t kMaxDotBytes = 128;
constexpr int64_t kMaxDotBytesInFrame = 4096;

class Compiler {
 public:
  Compiler(const Plan& plan, const StableSlots& stable, const CompileOptions& options, ChangeCounter& changes)
      : plan_(plan), stable_(stable), options_(options), changes_(changes), frame_(plan.arena_bytes) {
    scratch_ = frame_.Allocate(CompileLoops());
  }

  PlanCode Compile() {
    Steps(plan_.steps);
    result_.code.Finish();
    result_.frame_use = FrameUse();
    return std::move(result_);
  }
  int64_t end() const { return frame_.end(); }

 private:
  cpu::FrameUse FrameUse() const {
    cpu::FrameUse use{.private_begin = plan_.arena_bytes};
    auto& arguments = use.arguments.emplace();
    for (size_t slot = 0; slot < plan_.buffers.size(); ++slot)
      arguments.push_back(ExtentOf(static_cast<Slot>(slot)));
    auto& results = use.results.emplace();
    for (const Slot slot : plan_.results) {
      if (slot >= 0) results.push_back(ExtentOf(slot));
    }
    for (const PlanCode::Import& import : result_.imports) {
      const Literal* constant = plan_.buffers[import.slot].constant;
      if (constant == nullptr) continue;
      const auto* bytes = static_cast<const std::byte*>(constant->data()) + import.offset;
      use.constants.push_back({import.to, {bytes, static_cast<size_t>(import.byte_count)}});
    }
    return use;
  }
  int64_t Bytes(Slot slot) const { return plan_.buffers[slot].byte_count; }
  FrameOffset Import(Slot slot, int64_t offset, int64_t byte_count) {
    for (const PlanCode::Import& import : result_.imports) {
      if (import.slot == slot && import.offset == offset && import.byte_count == byte_count) return import.to;
    }
    const Literal* constant = plan_.buffers[slot].constant;
    if (constant == nullptr) {
      result_.imports.push_back({slot, offset, byte_count, frame_.Allocate(byte_count)});
      return result_.imports.back().to;
    }
    // Equal constants share one copy in the frame.
    const auto [known, is_new] = constants_.try_emplace(
        std::string(reinterpret_cast<const char*>(constant->data()) + offset, byte_count), 0);
    if (is_new) {
      known->second = frame_.Allocate(byte_count);
      result_.imports.push_back({slot, offset, byte_count, known->second});
    }
    return known->second;
  }
  // Returns the offset in the frame at which the bytes of the slot can be read.
  FrameOffset Read(Slot slot, int64_t offset, int64_t byte_count) {
    if (stable_.Contains(slot)) return static_cast<FrameOffset>(plan_.buffers[slot].offset + offset);
    if (stable_.IsInput(slot)) return Import(slot, offset, byte_count);
    const FrameOffset to = frame_.AllocateTemporary(byte_count);
    result_.code.Load(to, slot, offset, cpu::StepCode::kNoAddress, byte_count);
    return to;
  }

  // True if the operands of the program fit the frame.
  static bool IsInFrame(const SmallProgram& program) { return !program.is_in_memory; }

  // Compiles the small loops of all steps. Returns the scratch bytes that they need besides buffers.
  int64_t CompileLoops() {
    int64_t bytes = 0;
    VisitStepLists(plan_.steps, [&](const std::vector<Step>& steps) {
      for (const Step& step : steps) {
        const auto add = [&](std::optional<SmallProgram> program) {
          if (program.has_value() && program->is_for_loops && &steps == &plan_.steps) program.reset();
          if (program.has_value()) bytes = std::max(bytes, ScratchBytes(*program));
          small_[&step].push_back(std::move(program));
        };
        if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
          small_[&step];
          for (const loops::LoopProgram& program : tiles->programs) add(cpu::CompileSmall(program));
        } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
          add(cpu::CompileSmall(reduce->program));
        }
      }
    });
    return bytes;
  }
  static int64_t ScratchBytes(const SmallProgram& program) {
    int64_t bytes = 0;
    for (const SmallProgram::Call& call : program.calls) {
      if (call.out.argument < 0) bytes = std::max(bytes, call.out.offset + call.count * call.out.width);
    }
    return IsInFrame(program) ? bytes : 0;
  }

  void Steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step.what))
        Loop(step, *loop);
      else if (const auto* branch = std::get_if<BranchStep>(&step.what))
        Branch(*branch);
      else if (!Tiles(step) && !Scatter(step) && !Windows(step) && !Dot(step))
        Escape(&step);
      if (in_loop_)
        cse_.InvalidateWrites(step);
      else
        cse_.InvalidateAll();
      frame_.ReleaseAll();
    }
  }

  void Bind(cpu::StepCode::Label label) {
    cse_.InvalidateAll();
    result_.code.Bind(label);
  }
  void Escape(std::variant<const Step*, std::vector<Move>> what) {
    cse_.InvalidateAll();
    result_.code.Escape(static_cast<int32_t>(result_.escapes.size()));
    result_.escapes.push_back(std::move(what));
  }

  void Loop(const Step& step, const LoopStep& loop) {
    Moves(loop.initial);
    const bool was_in_loop = std::exchange(in_loop_, true);
    const cpu::StepCode::Label body = result_.code.NewLabel(), test = result_.code.NewLabel();
    result_.code.Jump(test);
    Bind(body);
    const int64_t first = result_.code.op_count();
    Steps(loop.body);
    Moves(RemainingMoves(loop.next, first));
    Bind(test);
    Steps(loop.condition);
    result_.code.Repeat(Read(loop.predicate, 0, 1), body);
    result_.loops.push_back(&step);
    in_loop_ = was_in_loop;
  }

  // Retargets the computations of next states, from operation `first` on, to the offsets of the states.
  // Returns the moves that are still needed.
  std::vector<Move> RemainingMoves(const std::vector<Move>& moves, int64_t first) {
    if (!options_.move_elimination) return moves;
    std::vector<Move> kept;
    // Moves are visited in reverse order. The counter, usually the first state, is then updated next to the
    // loop test.
    for (auto move_at = moves.rbegin(); move_at != moves.rend(); ++move_at) {
      const Move& move = *move_at;
      const int64_t sources = std::count_if(moves.begin(), moves.end(), [&](const Move& other) {
        return other.from == move.from || other.from == move.to;
      });
      const bool alone = sources == 1 && stable_.IsLastUse(move) && stable_.Contains(move.to) &&
                         stable_.Contains(move.from) && stable_.IsWrittenOnce(move.from) &&
                         !result_.code.UsesArgument(first, move.from) &&
                         !result_.code.UsesArgument(first, move.to);
      const auto offset_of = [&](Slot slot) { return static_cast<FrameOffset>(plan_.buffers[slot].offset); };
      if (!alone || changes_.IsAtLimit() ||
          !result_.code.Retarget(first, offset_of(move.from), offset_of(move.to), Bytes(move.to),
                                 [&](int32_t slot) { return ExtentOf(slot); }))
        kept.push_back(move);
      else
        changes_.Allow("move_elimination");
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  // Returns the bytes of the frame that the slot may occupy; exchanged slots may occupy any of them.
  cpu::StepCode::Bytes ExtentOf(Slot slot) const {
    const Buffer& buffer = plan_.buffers[slot];
    if (buffer.kind != Buffer::Kind::kArena) return {0, 0};
    if (!stable_.Contains(slot)) return {0, plan_.arena_bytes};
    return {static_cast<FrameOffset>(buffer.offset), buffer.byte_count};
  }

  void Branch(const BranchStep& branch) {
    std::vector<cpu::StepCode::Label> labels(branch.branches.size());
    for (cpu::StepCode::Label& label : labels) label = result_.code.NewLabel();
    const cpu::StepCode::Label end = result_.code.NewLabel();
    if (branch.choice_type == ElementType::kPred)
      result_.code.JumpUnless(Read(branch.choice, 0, 1), labels.back());
    else
      result_.code.JumpTo(Read(branch.choice, 0, 4), labels);
    for (size_t b = 0; b < labels.size(); ++b) {
      Bind(labels[b]);
      Steps(branch.branches[b].steps);
      Moves(branch.branches[b].results);
      if (b + 1 < labels.size()) result_.code.Jump(end);
    }
    Bind(end);
  }

  // True if code can copy the bytes of the move. It cannot access literals.
  bool IsCopy(const Move& move) const {
    const auto is_array = [&](Slot slot) { return plan_.buffers[slot].kind != Buffer::Kind::kLiteral; };
    return !move.exchange && is_array(move.to) && is_array(move.from) && Bytes(move.to) > 0 &&
           Bytes(move.to) <= kMaxCopiedBytes;
  }
  // Emits the copies in an order in which each source is read before it is overwritten.
  void Moves(const std::vector<Move>& moves) {
    std::vector<Move> copies, others;
    for (const Move& move : moves) (IsCopy(move) ? copies : others).push_back(move);
    // The sources of the other moves may be among the copied values.
    const bool apart = std::none_of(others.begin(), others.end(),
                                    [&](const Move& move) { return Bytes(move.to) <= kMaxCopiedBytes; });
    if (!apart) return Escape(moves);
    if (!others.empty()) Escape(std::move(others));
    std::vector<FrameOffset> sources;
    for (const Move& move : copies) sources.push_back(Read(move.from, 0, Bytes(move.to)));
    // Values outside the frame, such as results, have been read. They are stored before sources in the frame
    // are overwritten.
    std::vector<std::pair<FrameOffset, FrameOffset>> left;  // Pairs of destination and source.
    std::vector<int64_t> bytes;
    for (size_t k = 0; k < copies.size(); ++k) {
      const Slot to = copies[k].to;
      if (!stable_.Contains(to)) {
        CopyTo(to, sources[k]);
        continue;
      }
      left.push_back({static_cast<FrameOffset>(plan_.buffers[to].offset), sources[k]});
      bytes.push_back(Bytes(to));
    }
    while (!left.empty()) {
      size_t next = 0;
      const auto is_source = [&](FrameOffset offset) {
        return std::any_of(left.begin(), left.end(), [&](const auto& move) { return move.second == offset; });
      };
      while (next < left.size() && is_source(left[next].first)) ++next;
      if (next == left.size()) {
        // All remaining copies form cycles, so one source is saved to a temporary.
        const FrameOffset saved = frame_.AllocateTemporary(kMaxCopiedBytes);
        const FrameOffset overwritten = left[0].first;
        for (size_t k = 0; k < left.size(); ++k) {
          if (left[k].second != overwritten) continue;
          result_.code.Copy(saved, overwritten, bytes[k]);
          left[k].second = saved;
        }
        next = 0;
      }
      result_.code.Copy(left[next].first, left[next].second, bytes[next]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }

  void CopyTo(Slot slot, FrameOffset from) {
    if (stable_.Contains(slot))
      result_.code.Copy(static_cast<FrameOffset>(plan_.buffers[slot].offset), from, Bytes(slot));
    else
      result_.code.Store(from, slot, 0, cpu::StepCode::kNoAddress, Bytes(slot));
  }

  // Compiles a scatter of one contiguous window, whose bounds are checked. Returns false for other steps.
  bool Scatter(const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (kernel == nullptr || step.instruction->opcode() != Opcode::kScatter) return false;
    const std::optional<WindowUpdate> update = FindWindowUpdate(*step.instruction);
    if (!update.has_value()) return false;
    const Slot operand = kernel->operands[0], result = kernel->results[0];
    const int64_t width = ByteCount(update->type), byte_count = update->count * width;
    if (byte_count > kMaxWindowBytes) return false;
    if (!CopyOperand(operand, result)) return false;
    const cpu::StepCode::Label outside = result_.code.NewLabel();
    const auto indices = static_cast<int64_t>(update->starts.size());
    const int64_t index_width = ByteCount(update->index_type);
    const FrameOffset index = Read(kernel->operands[1], 0, indices * index_width);
    const FrameOffset address = frame_.AllocateTemporary(sizeof(int64_t)),
                      value = frame_.AllocateTemporary(byte_count);
    for (int64_t k = 0; k < indices; ++k) {
      const auto& [max, stride] = update->starts[k];
      result_.code.CheckedAddress(address, k > 0, static_cast<FrameOffset>(index + k * index_width),
                                  update->index_type, max, stride * width, outside);
    }
    const FrameOffset from = Read(kernel->operands[2], 0, byte_count);
    if (!update->combine.has_value()) {
      result_.code.Store(from, result, 0, address, byte_count);
    } else {
      result_.code.Load(value, result, 0, address, byte_count);
      Combine(*update->combine, update->count, width, value, from);
      result_.code.Store(value, result, 0, address, byte_count);
    }
    Bind(outside);
    return true;
  }

  // Copies the operand of a scatter that is not in place. Returns false if it is large.
  bool CopyOperand(Slot operand, Slot result) {
    if (operand == result) return true;
    if (Bytes(result) > kMaxCopiedOperand) return false;
    CopyTo(result, Read(operand, 0, Bytes(result)));
    return true;
  }

  // Emits the operation on elements in the frame and as many others, in place.
  void Combine(const loops::Operation& operation, int64_t count, int64_t width, FrameOffset elements,
               FrameOffset others) {
    const auto each = static_cast<int32_t>(width);
    result_.code.Call(cpu::FindTileCall(operation), count, {each, {each, each, 0}}, elements,
                      {elements, others, others});
  }

  // Compiles a gather or scatter of a few windows in a loop. Returns false for other steps.
  bool Windows(const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    const Opcode opcode = kernel != nullptr ? step.instruction->opcode() : Opcode::kTuple;
    const bool is_scatter = opcode == Opcode::kScatter;
    if (!in_loop_ || (!is_scatter && opcode != Opcode::kGather)) return false;
    const Slot operand = kernel->operands[0], indices = kernel->operands[1], result = kernel->results[0],
               other = is_scatter ? kernel->operands[2] : result;
    const std::optional<WindowMoves> moves =
        FindWindowMoves(*step.instruction, plan_.buffers[indices].constant);
    if (!moves.has_value() || moves->length * moves->width > kMaxWindowBytes ||
        Bytes(other) > kMaxCopiedOperand || (is_scatter && !CopyOperand(operand, result)))
      return false;
    const bool is_constant = plan_.buffers[indices].constant != nullptr;
    const FrameOffset index = is_constant ? 0 : Read(indices, 0, Bytes(indices));
    const FrameOffset address = frame_.AllocateTemporary(sizeof(int64_t)),
                      value = frame_.AllocateTemporary(moves->length * moves->width),
                      updates = is_scatter ? Read(other, 0, Bytes(other)) : 0;
    for (const WindowMoves::Window& window : moves->windows) {
      const cpu::StepCode::Label outside = result_.code.NewLabel();
      for (size_t k = 0; k < window.starts.size(); ++k) {
        const auto& [number, max, stride] = window.starts[k];
        const auto at = static_cast<FrameOffset>(index + number * ByteCount(moves->index_type));
        if (is_scatter)
          result_.code.CheckedAddress(address, k > 0, at, moves->index_type, max, stride * moves->width,
                                      outside);
        else
          result_.code.Address(address, k > 0, at, moves->index_type, max, stride * moves->width);
      }
      const FrameOffset base = window.starts.empty() ? cpu::StepCode::kNoAddress : address;
      for (const WindowMoves::Move& move : window.moves) {
        if (is_scatter)
          ScatterMove(*moves, move, {result, base, updates, value});
        else
          GatherMove(*moves, move, {operand, base, 0, value}, result);
      }
      Bind(outside);
    }
    return true;
  }

  struct MovedWindow {
    Slot operand;
    FrameOffset base, updates;  // The address of the window, and the updates in the frame.
    FrameOffset value;          // Temporary memory for a row.
  };
  void GatherMove(const WindowMoves& moves, const WindowMoves::Move& move, const MovedWindow& window,
                  Slot result) {
    const int64_t bytes = moves.length * moves.width, from = move.operand * moves.width,
                  to = move.other * moves.width;
    const bool is_in_frame = stable_.Contains(result);
    const FrameOffset at =
        is_in_frame ? static_cast<FrameOffset>(plan_.buffers[result].offset + to) : window.value;
    if (window.base == cpu::StepCode::kNoAddress &&
        (stable_.Contains(window.operand) || stable_.IsInput(window.operand)))
      result_.code.Copy(at, Read(window.operand, from, bytes), bytes);
    else
      result_.code.Load(at, window.operand, from, window.base, bytes);
    if (!is_in_frame) result_.code.Store(at, result, to, cpu::StepCode::kNoAddress, bytes);
  }
  void ScatterMove(const WindowMoves& moves, const WindowMoves::Move& move, const MovedWindow& window) {
    const int64_t bytes = moves.length * moves.width, to = move.operand * moves.width;
    const auto from = static_cast<FrameOffset>(window.updates + move.other * moves.width);
    if (window.base == cpu::StepCode::kNoAddress && stable_.Contains(window.operand)) {
      const auto at = static_cast<FrameOffset>(plan_.buffers[window.operand].offset + to);
      if (moves.combine.has_value())
        Combine(*moves.combine, moves.length, moves.width, at, from);
      else
        result_.code.Copy(at, from, bytes);
      return;
    }
    if (!moves.combine.has_value()) return result_.code.Store(from, window.operand, to, window.base, bytes);
    result_.code.Load(window.value, window.operand, to, window.base, bytes);
    Combine(*moves.combine, moves.length, moves.width, window.value, from);
    result_.code.Store(window.value, window.operand, to, window.base, bytes);
  }

  // Compiles a dot of small arrays. Returns false for other steps.
  bool Dot(const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (kernel == nullptr || kernel->kernel.name != "small dot") return false;
    const Slot a = kernel->operands[0], b = kernel->operands[1], result = kernel->results[0];
    const auto is_small = [&](Slot slot) {
      const bool is_in_frame = stable_.Contains(slot) || stable_.IsInput(slot);
      return Bytes(slot) <= (in_loop_ && is_in_frame ? kMaxDotBytesInFrame : kMaxDotBytes);
    };
    const std::optional<cpu::SmallDot> dot = FindSmallDot(*step.instruction);
    if (!dot.has_value() || !is_small(a) || !is_small(b) || !is_small(result) || !stable_.Contains(result))
      return false;
    const FrameOffset left = Read(a, 0, Bytes(a)), right = Read(b, 0, Bytes(b));
    result_.code.Dot(*dot, {Bytes(result), Bytes(a), Bytes(b)},
                     static_cast<FrameOffset>(plan_.buffers[result].offset), left, right);
    return true;
  }

  // Returns false if a program of the step is not small.
  bool Tiles(const Step& step) {
    const auto found = small_.find(&step);
    if (found == small_.end()) return false;
    for (const std::optional<SmallProgram>& program : found->second) {
      if (!program.has_value()) return false;
    }
    for (const std::optional<SmallProgram>& program : found->second) {
      if (IsInFrame(*program))
        Program(*program);
      else
        Row(*program);
    }
    return true;
  }

  // A run-time address: a constant offset plus, unless it is kNoAddress, the integer at `base` in the frame.
  struct Address {
    int64_t offset = 0;
    FrameOffset base = cpu::StepCode::kNoAddress;
  };

  // Returns the addresses, indexed by the number of the start.
  std::vector<Address> Addresses(const SmallProgram& program) {
    std::vector<LoadCse::Indices> keys(SmallProgram::kMaxStarts + 1);
    std::vector<Address> addresses(keys.size());
    absl::flat_hash_map<Slot, ElementType> types;
    for (const SmallProgram::Start& start : program.starts) {
      if (const Literal* constant = plan_.buffers[start.argument].constant) {
        const auto* positions = static_cast<const std::byte*>(constant->data());
        const int64_t index = loops::ReadInteger(start.type, positions + start.byte_offset);
        addresses[start.number].offset += std::clamp<int64_t>(index, 0, start.max) * start.byte_stride;
      } else {
        keys[start.number].emplace_back(start.argument, start.byte_offset, start.max, start.byte_stride);
        types[start.argument] = start.type;
      }
    }
    for (size_t number = 0; number < keys.size(); ++number) {
      if (keys[number].empty()) continue;
      const auto [base, is_new] = cse_.Address(keys[number]);
      bool adds = false;
      for (const auto& [slot, offset, max, stride] : keys[number]) {
        const ElementType type = types[slot];
        if (!is_new) break;
        result_.code.Address(base, adds, Read(slot, offset, ByteCount(type)), type, max, stride);
        adds = true;
      }
      addresses[number].base = base;
    }
    return addresses;
  }

  // Compiles one call from memory to memory.
  void Row(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto in_memory = [&](const SmallProgram::Operand& operand) -> cpu::StepCode::MemoryOperand {
      if (operand.argument < 0) return {};
      const Address& address = addresses[operand.start];
      return {operand.argument, operand.offset + address.offset, address.base, operand.width};
    };
    const SmallProgram::Call& call = program.calls[0];
    result_.code.CallOnMemory({call.call,
                               call.count,
                               in_memory(call.out),
                               {in_memory(call.in[0]), in_memory(call.in[1]), in_memory(call.in[2])}});
    cse_.InvalidateLoads(call.out.argument);
  }

  void Program(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto is_outside_frame = [&](const SmallProgram::Operand& operand) {
      return operand.argument >= 0 && (operand.start != 0 || !(stable_.Contains(operand.argument) ||
                                                               stable_.IsInput(operand.argument)));
    };
    const auto range_of = [&](const SmallProgram::Operand& operand, int64_t count) {
      const Address& address = addresses[operand.start];
      return LoadCse::MemoryRange{operand.argument, address.base, operand.offset + address.offset,
                                  count * operand.width};
    };
    const auto load = [&](FrameOffset to, const LoadCse::MemoryRange& from) {
      result_.code.Load(to, from.slot, from.offset, from.address, from.byte_count);
    };
    const auto read = [&](const SmallProgram::Operand& operand, int64_t count) -> FrameOffset {
      if (operand.argument < 0) return scratch_ + static_cast<FrameOffset>(operand.offset);
      if (!is_outside_frame(operand)) return Read(operand.argument, operand.offset, count * operand.width);
      const LoadCse::MemoryRange from = range_of(operand, count);
      const auto [to, is_new] = cse_.Load(from);
      if (is_new) load(to, from);
      return to;
    };
    for (const SmallProgram::Call& call : program.calls) {
      const SmallProgram::Operand& out = call.out;
      const bool stores_outside_frame =
          out.argument >= 0 && (out.start != 0 || !stable_.Contains(out.argument));
      FrameOffset to = scratch_ + static_cast<FrameOffset>(out.offset);
      if (stores_outside_frame)
        to = frame_.AllocateTemporary(call.count * out.width);
      else if (out.argument >= 0)
        to = static_cast<FrameOffset>(plan_.buffers[out.argument].offset + out.offset);
      // A splat reads a single element; other operands have as many elements as the result.
      const bool spreads = call.call.function == cpu::SplatTile(loops::ComputeType::kF32).function;
      const bool copies = call.call.function == cpu::CopyTile(loops::ComputeType::kF32).function;
      if (copies && !stores_outside_frame && is_outside_frame(call.in[0])) {
        load(to, range_of(call.in[0], call.count));
        continue;
      }
      const auto in_frame = [&](size_t k) { return read(call.in[k], spreads ? 1 : call.ElementsOf(k)); };
      const FrameOffset in[3] = {in_frame(0), in_frame(1), in_frame(2)};
      result_.code.Call(call.call, call.count,
                        {out.width, {call.in[0].width, call.in[1].width, call.in[2].width}, call.reads}, to,
                        in);
      if (stores_outside_frame) {
        const Address& address = addresses[out.start];
        result_.code.Store(to, out.argument, out.offset + address.offset, address.base,
                           call.count * out.width);
        cse_.InvalidateLoads(out.argument);
      }
    }
  }

  const Plan& plan_;
  const StableSlots& stable_;
  const CompileOptions& options_;
  ChangeCounter& changes_;
  PlanCode result_;
  FrameAllocator frame_;
  LoadCse cse_{frame_, options_.load_cse, changes_};
  bool in_loop_ = false;  // Loads are reused only in loops: other code runs once.
  FrameOffset scratch_ = -1;
  // The programs of each loop; nullopt: it is not small.
  absl::flat_hash_map<const Step*, std::vector<std::optional<SmallProgram>>> small_;
  absl::flat_hash_map<std::string, FrameOffset> constants_;  // Keyed by their bytes.
};

}  // namespace

void CompilePlan(Plan& plan, const CompileOptions& options, ChangeCounter& changes) {
  const StableSlots stable(plan);
  if (plan.arena_bytes > std::numeric_limits<FrameOffset>::max() / 2) return;
  Compiler compiler(plan, stable, options, changes);
  PlanCode code = compiler.Compile();
  if (code.code.op_count() == static_cast<int64_t>(code.escapes.size()) + 1) return;
  plan.arena_bytes = compiler.end();
  plan.code = std::make_shared<PlanCode>(std::move(code));
}

}  // namespace hlo::plan
