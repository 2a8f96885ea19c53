#include "plan/bytecode/compiler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/analysis/window_update.h"
#include "plan/bytecode/frame_allocator.h"
#include "plan/bytecode/load_cse.h"
#include "plan/bytecode/stable_slots.h"
#include "plan/memory/aliasing.h"
#include "plan/plan_code.h"
#include "plan/select/library_kernels.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cpu::FramePlace;
using cpu::SmallProgram;

constexpr int64_t kMostWindowBytes = 256;
constexpr int64_t kMostDotBytes = 128;  // Of each array.

class Compiler {
 public:
  Compiler(const Plan& plan, const FixedSlots& fixed, const CompileOptions& options)
      : plan_(plan), fixed_(fixed), options_(options), places_(plan.arena_bytes) {
    scratch_ = places_.New(ScratchBytes(plan.steps));
  }

  PlanCode Compile() {
    Steps(plan_.steps);
    result_.code.Finish();
    return std::move(result_);
  }
  int64_t end() const { return places_.end(); }

 private:
  int64_t Bytes(Slot slot) const { return plan_.buffers[slot].byte_count; }
  FramePlace Import(Slot slot, int64_t offset, int64_t byte_count) {
    for (const PlanCode::Import& import : result_.imports) {
      if (import.slot == slot && import.offset == offset && import.byte_count == byte_count) return import.to;
    }
    const Literal* constant = plan_.buffers[slot].constant;
    if (constant == nullptr) {
      result_.imports.push_back({slot, offset, byte_count, places_.New(byte_count)});
      return result_.imports.back().to;
    }
    // Many constants are the same numbers.
    const auto [known, is_new] = constants_.try_emplace(
        std::string(reinterpret_cast<const char*>(constant->data()) + offset, byte_count), 0);
    if (is_new) {
      known->second = places_.New(byte_count);
      result_.imports.push_back({slot, offset, byte_count, known->second});
    }
    return known->second;
  }
  // Where these bytes of a slot can be read now.
  FramePlace Read(Slot slot, int64_t offset, int64_t byte_count) {
    if (fixed_.Contains(slot)) return static_cast<FramePlace>(plan_.buffers[slot].offset + offset);
    if (fixed_.IsGiven(slot)) return Import(slot, offset, byte_count);
    const FramePlace place = places_.Borrow(byte_count);
    result_.code.Load(place, slot, offset, cpu::StepCode::kNoAddress, byte_count);
    return place;
  }

  // Whether the frame has room for what the program reads.
  static bool IsInFrame(const cpu::TileProgram& program) {
    return program.small().has_value() && program.small()->count <= SmallProgram::kMostInFrame;
  }
  // What the programs need besides buffers.
  static int64_t ScratchBytes(const std::vector<Step>& steps) {
    int64_t bytes = 0;
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
        bytes = std::max({bytes, ScratchBytes(loop->condition), ScratchBytes(loop->body)});
      } else if (const auto* branch = std::get_if<BranchStep>(&step.what)) {
        for (const BranchStep::Branch& each : branch->branches)
          bytes = std::max(bytes, ScratchBytes(each.steps));
      } else if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
        for (const cpu::TileProgram& program : tiles->programs) {
          if (!IsInFrame(program)) continue;
          for (const SmallProgram::Call& call : program.small()->calls)
            if (call.out.argument < 0)
              bytes = std::max(bytes, call.out.offset + program.small()->count * call.out.width);
        }
      }
    }
    return bytes;
  }

  void Steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step.what))
        Loop(step, *loop);
      else if (const auto* branch = std::get_if<BranchStep>(&step.what))
        Branch(*branch);
      else if (!Tiles(step) && !Scatter(step) && !Dot(step))
        Escape(&step);
      if (in_loop_)
        known_.ForgetWrites(step);
      else
        known_.ForgetAll();
      places_.ReleaseAll();
    }
  }

  void Bind(cpu::StepCode::Label label) {
    known_.ForgetAll();
    result_.code.Bind(label);
  }
  void Escape(std::variant<const Step*, std::vector<Move>> what) {
    known_.ForgetAll();
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
    Moves(WithoutRetargeted(loop.next, first));
    Bind(test);
    Steps(loop.condition);
    result_.code.Repeat(Read(loop.predicate, 0, 1), body);
    result_.loops.push_back(&step);
    in_loop_ = was_in_loop;
  }

  // Next states that are computed where the state lies, from operation `first` on, need not be moved.
  std::vector<Move> WithoutRetargeted(const std::vector<Move>& moves, int64_t first) {
    if (!options_.move_elimination) return moves;
    std::vector<Move> kept;
    // A counter, which comes first as a rule, stands beside the test of the loop then.
    for (auto move_at = moves.rbegin(); move_at != moves.rend(); ++move_at) {
      const Move& move = *move_at;
      const int64_t sources = std::count_if(moves.begin(), moves.end(), [&](const Move& other) {
        return other.from == move.from || other.from == move.to;
      });
      const bool alone = sources == 1 && fixed_.IsLastUse(move) && fixed_.Contains(move.to) &&
                         fixed_.Contains(move.from) && fixed_.IsWrittenOnce(move.from) &&
                         !result_.code.UsesArgument(first, move.from) &&
                         !result_.code.UsesArgument(first, move.to);
      const auto place = [&](Slot slot) { return static_cast<FramePlace>(plan_.buffers[slot].offset); };
      if (!alone || !result_.code.Retarget(first, place(move.from), place(move.to), Bytes(move.to),
                                           [&](int32_t slot) { return ExtentOf(slot); }))
        kept.push_back(move);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  // Where in the frame the slot may lie; those that change places may lie anywhere.
  cpu::StepCode::Bytes ExtentOf(Slot slot) const {
    const Buffer& buffer = plan_.buffers[slot];
    if (buffer.kind != Buffer::Kind::kArena) return {0, 0};
    if (!fixed_.Contains(slot)) return {0, plan_.arena_bytes};
    return {static_cast<FramePlace>(buffer.offset), buffer.byte_count};
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

  // Copies in an order in which each source is read before it changes.
  void Moves(const std::vector<Move>& moves) {
    std::vector<Move> copies, others;
    for (const Move& move : moves) {
      const bool from_frame = fixed_.Contains(move.from) || fixed_.IsGiven(move.from);
      const bool is_copy = fixed_.Contains(move.to) && from_frame && Bytes(move.to) <= kSmall;
      (is_copy ? copies : others).push_back(move);
    }
    // Small values of others may be among the copied ones.
    const bool apart = std::none_of(others.begin(), others.end(),
                                    [&](const Move& move) { return Bytes(move.to) <= kSmall; });
    if (!apart) return Escape(moves);
    if (!others.empty()) Escape(std::move(others));
    std::vector<std::pair<FramePlace, FramePlace>> left;  // To, from.
    std::vector<int64_t> bytes;
    for (const Move& move : copies) {
      const auto to = static_cast<FramePlace>(plan_.buffers[move.to].offset);
      left.push_back({to, Read(move.from, 0, Bytes(move.to))});
      bytes.push_back(Bytes(move.to));
    }
    while (!left.empty()) {
      size_t next = 0;
      const auto is_source = [&](FramePlace place) {
        return std::any_of(left.begin(), left.end(), [&](const auto& move) { return move.second == place; });
      };
      while (next < left.size() && is_source(left[next].first)) ++next;
      if (next == left.size()) {
        // All in circles: one of them waits elsewhere.
        const FramePlace saved = places_.Borrow(kSmall);
        const FramePlace overwritten = left[0].first;
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

  // A scatter of one window whose elements lie side by side: checked, not clamped. False for others.
  bool Scatter(const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (kernel == nullptr || step.instruction->opcode() != Opcode::kScatter) return false;
    const std::optional<WindowUpdate> update = FindWindowUpdate(*step.instruction);
    if (!update.has_value()) return false;
    const Slot operand = kernel->operands[0], result = kernel->results[0];
    const int64_t width = ByteCount(update->type), byte_count = update->count * width;
    if (byte_count > kMostWindowBytes) return false;
    if (operand != result) {
      if (!fixed_.Contains(result) || Bytes(result) > kMostWindowBytes) return false;
      result_.code.Copy(static_cast<FramePlace>(plan_.buffers[result].offset),
                        Read(operand, 0, Bytes(result)), Bytes(result));
    }
    const cpu::StepCode::Label outside = result_.code.NewLabel();
    const auto indices = static_cast<int64_t>(update->starts.size());
    const int64_t index_width = ByteCount(update->index_type);
    const FramePlace index = Read(kernel->operands[1], 0, indices * index_width);
    const FramePlace address = places_.Borrow(sizeof(int64_t)), value = places_.Borrow(byte_count);
    for (int64_t k = 0; k < indices; ++k) {
      const auto& [max, stride] = update->starts[k];
      result_.code.CheckedAddress(address, k > 0, static_cast<FramePlace>(index + k * index_width),
                                  update->index_type, max, stride * width, outside);
    }
    const FramePlace from = Read(kernel->operands[2], 0, byte_count);
    if (update->combine.function == nullptr) {
      result_.code.Store(from, result, 0, address, byte_count);
    } else {
      result_.code.Load(value, result, 0, address, byte_count);
      const auto element = static_cast<int32_t>(width);
      result_.code.Call(update->combine, update->count, {element, {element, element, 0}}, value,
                        {value, from, from});
      result_.code.Store(value, result, 0, address, byte_count);
    }
    Bind(outside);
    return true;
  }

  // A product of a few elements, all of whose arrays are small. False for others.
  bool Dot(const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.what);
    if (kernel == nullptr || kernel->kernel.name != "small dot") return false;
    const Slot a = kernel->operands[0], b = kernel->operands[1], result = kernel->results[0];
    const int64_t byte_count = std::max({Bytes(a), Bytes(b), Bytes(result)});
    const std::optional<cpu::SmallDot> dot = FindSmallDot(*step.instruction);
    if (!dot.has_value() || byte_count > kMostDotBytes || !fixed_.Contains(result)) return false;
    const FramePlace left = Read(a, 0, Bytes(a)), right = Read(b, 0, Bytes(b));
    result_.code.Dot(*dot, {Bytes(result), Bytes(a), Bytes(b)},
                     static_cast<FramePlace>(plan_.buffers[result].offset), left, right);
    return true;
  }

  // False where a program of the step is not small.
  bool Tiles(const Step& step) {
    const auto* tiles = std::get_if<TileStep>(&step.what);
    if (tiles == nullptr) return false;
    for (const cpu::TileProgram& program : tiles->programs) {
      if (!program.small().has_value()) return false;
    }
    for (const cpu::TileProgram& program : tiles->programs) {
      if (IsInFrame(program))
        Program(*program.small());
      else
        Row(*program.small());
    }
    return true;
  }

  // A run-time place: a constant distance and, unless it is kNoAddress, what lies in the frame.
  struct Address {
    int64_t offset = 0;
    FramePlace place = cpu::StepCode::kNoAddress;
  };

  // By the number of the starts.
  std::vector<Address> Addresses(const SmallProgram& program) {
    std::vector<KnownPieces::Indices> keys(SmallProgram::kMostStarts + 1);
    std::vector<Address> addresses(keys.size());
    absl::flat_hash_map<Slot, ElementType> types;
    for (const SmallProgram::Start& start : program.starts) {
      if (const Literal* constant = plan_.buffers[start.argument].constant) {
        const auto* positions = static_cast<const std::byte*>(constant->data());
        const int64_t index = cpu::ReadInteger(start.type, positions + start.byte_offset);
        addresses[start.number].offset += std::clamp<int64_t>(index, 0, start.max) * start.byte_stride;
      } else {
        keys[start.number].emplace_back(start.argument, start.byte_offset, start.max, start.byte_stride);
        types[start.argument] = start.type;
      }
    }
    for (size_t number = 0; number < keys.size(); ++number) {
      if (keys[number].empty()) continue;
      const auto [place, is_new] = known_.Address(keys[number]);
      bool adds = false;
      for (const auto& [slot, offset, max, stride] : keys[number]) {
        const ElementType type = types[slot];
        if (!is_new) break;
        result_.code.Address(place, adds, Read(slot, offset, ByteCount(type)), type, max, stride);
        adds = true;
      }
      addresses[number].place = place;
    }
    return addresses;
  }

  // One call from memory to memory.
  void Row(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto place = [&](const SmallProgram::Place& where) -> cpu::StepCode::FarPlace {
      if (where.argument < 0) return {};
      const Address& address = addresses[where.start];
      return {where.argument, where.offset + address.offset, address.place, where.width};
    };
    const SmallProgram::Call& call = program.calls[0];
    result_.code.CallFar({call.call,
                          program.count,
                          place(call.out),
                          {place(call.in[0]), place(call.in[1]), place(call.in[2])}});
    known_.ForgetLoads(call.out.argument);
  }

  void Program(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto is_far = [&](const SmallProgram::Place& place) {
      return place.argument >= 0 &&
             (place.start != 0 || !(fixed_.Contains(place.argument) || fixed_.IsGiven(place.argument)));
    };
    const auto piece = [&](const SmallProgram::Place& place, int64_t count) {
      const Address& address = addresses[place.start];
      return KnownPieces::Piece{place.argument, address.place, place.offset + address.offset,
                                count * place.width};
    };
    const auto load = [&](FramePlace to, const KnownPieces::Piece& from) {
      result_.code.Load(to, from.slot, from.offset, from.address, from.byte_count);
    };
    const auto read = [&](const SmallProgram::Place& place, int64_t count) -> FramePlace {
      if (place.argument < 0) return scratch_ + static_cast<FramePlace>(place.offset);
      if (!is_far(place)) return Read(place.argument, place.offset, count * place.width);
      const KnownPieces::Piece from = piece(place, count);
      const auto [to, is_new] = known_.Load(from);
      if (is_new) load(to, from);
      return to;
    };
    for (const SmallProgram::Call& call : program.calls) {
      const SmallProgram::Place& out = call.out;
      const bool far = out.argument >= 0 && (out.start != 0 || !fixed_.Contains(out.argument));
      FramePlace to = scratch_ + static_cast<FramePlace>(out.offset);
      if (far)
        to = places_.Borrow(program.count * out.width);
      else if (out.argument >= 0)
        to = static_cast<FramePlace>(plan_.buffers[out.argument].offset + out.offset);
      // One element is spread; others stand where the results do.
      const bool spreads = call.call.function == cpu::SplatTile(cpu::Lane::kF32).function;
      const bool copies = call.call.function == cpu::CopyTile(cpu::Lane::kF32).function;
      if (copies && !far && is_far(call.in[0])) {
        load(to, piece(call.in[0], program.count));
        continue;
      }
      const int64_t count = spreads ? 1 : program.count;
      const FramePlace in[3] = {read(call.in[0], count), read(call.in[1], count), read(call.in[2], count)};
      result_.code.Call(call.call, program.count,
                        {out.width, {call.in[0].width, call.in[1].width, call.in[2].width}}, to, in);
      if (far) {
        const Address& address = addresses[out.start];
        result_.code.Store(to, out.argument, out.offset + address.offset, address.place,
                           program.count * out.width);
        known_.ForgetLoads(out.argument);
      }
    }
  }

  const Plan& plan_;
  const FixedSlots& fixed_;
  const CompileOptions& options_;
  PlanCode result_;
  FramePlaces places_;
  KnownPieces known_{places_, options_.load_cse};
  bool in_loop_ = false;  // Code that runs once keeps nothing for steps to come.
  FramePlace scratch_ = -1;
  absl::flat_hash_map<std::string, FramePlace> constants_;  // By their bytes.
};

}  // namespace

void CompilePlan(Plan& plan, const CompileOptions& options) {
  const FixedSlots fixed(plan);
  if (plan.arena_bytes > std::numeric_limits<FramePlace>::max() / 2) return;
  Compiler compiler(plan, fixed, options);
  PlanCode code = compiler.Compile();
  if (code.code.op_count() == static_cast<int64_t>(code.escapes.size()) + 1) return;
  plan.arena_bytes = compiler.end();
  plan.code = std::make_shared<PlanCode>(std::move(code));
}

}  // namespace hlo::plan
