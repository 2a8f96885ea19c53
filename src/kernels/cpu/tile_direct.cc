// Programs whose operations are all in chains that read operands where they lie, and write results there: a
// tile is pointers to set, and the chains.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/tile_loops.h"
#include "kernels/cpu/tile_program.h"

namespace hlo::cpu {

// Whether the elements of a tile lie side by side.
bool TileProgram::IsDenseInTile(int32_t access) const {
  if (!accesses_[access].IsArray()) return false;
  if (patterns_[access] == Pattern::kDense) return true;
  return patterns_[access] == Pattern::kStrided && by_rows_ && yielded_.empty() &&
         accesses_[access].inner.back() == 1 && StartsWithRows(accesses_[access]);
}

// Whether run-time starts are the same for all of a row.
bool TileProgram::StartsWithRows(const Access& access) {
  return access.edges.empty() &&
         std::all_of(access.starts.begin(), access.starts.end(), [](const RuntimeStart& start) {
           return !start.place.has_value() || start.place->inner.back() == 0;
         });
}

void TileProgram::FindDirectPointers() {
  const auto is_direct_step = [&](const Step& step) {
    if (step.access < 0) return step.chain >= 0;
    const Value& value = values_[step.out];
    if (value.for_chains && value.form != ChainForm::kBF16) return true;
    return (value.for_chains || step.call.function == nullptr) && IsDenseInTile(step.access);
  };
  const auto is_direct_store = [&](const Stored& stored) {
    return stored.by_chain ||
           (values_[stored.value].stored_as == stored.access && patterns_[stored.access] == Pattern::kDense);
  };
  is_direct_ = !chains_.empty() && std::all_of(steps_.begin(), steps_.end(), is_direct_step) &&
               std::all_of(stored_.begin(), stored_.end(), is_direct_store) &&
               std::all_of(yielded_.begin(), yielded_.end(),
                           [&](TileValue value) { return values_[value].access < 0; });
  if (!is_direct_) return;
  for (Chain& chain : chains_) {
    for (size_t k = 0; k < chain.steps.size(); ++k) {
      const Chain::Operands& operands = chain.operands[k];
      if (operands.access >= 0)
        chain.direct.push_back(
            {DirectPointer::Kind::kMemory, false, k, -1, operands.access, -1, Width(operands.access)});
      else if (chain.pointers[k].is_store)
        chain.direct.push_back(DirectStore(k, operands.value));
      else if (operands.value >= 0)
        chain.direct.push_back(DirectRead(k, operands.value, false));
      if (operands.second >= 0) chain.direct.push_back(DirectRead(k, operands.second, true));
    }
  }
}

TileProgram::DirectPointer TileProgram::DirectStore(size_t step, TileValue number) const {
  const Value& value = values_[number];
  const bool in_place = value.stored_as >= 0 && patterns_[value.stored_as] == Pattern::kDense;
  return {in_place ? DirectPointer::Kind::kMemory : DirectPointer::Kind::kRegister,
          false,
          step,
          number,
          value.stored_as,
          -1,
          in_place ? Width(value.stored_as) : 0};
}

TileProgram::DirectPointer TileProgram::DirectRead(size_t step, TileValue number, bool is_second) const {
  using Kind = DirectPointer::Kind;
  const Value& value = values_[number];
  if (value.access < 0) return {Kind::kComputed, is_second, step, number, -1, -1};
  const bool is_iota = accesses_[value.access].argument == Access::kIota;
  const auto irregular = std::find_if(irregular_.begin(), irregular_.end(),
                                      [&](const auto& entry) { return entry.first == value.access; });
  const int32_t extras = irregular == irregular_.end() ? -1 : irregular->second;
  const Kind kind = extras >= 0                        ? Kind::kRow
                    : is_iota                          ? Kind::kIota
                    : value.form == ChainForm::kScalar ? Kind::kScalar
                                                       : Kind::kMemory;
  const auto load =
      std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) { return s.out == number; });
  return {kind, is_second, step, number, value.access, extras, Width(value.access), load->call};
}

// The place of the element at an inner position.
int64_t TileProgram::PlaceOf(int32_t number, const int64_t* bases, int64_t position) const {
  const Strides& inner = accesses_[number].inner;
  int64_t at = bases[number];
  if (patterns_[number] == Pattern::kDense) return at + position;
  if (patterns_[number] == Pattern::kScalar) return at;
  EachDigit(position, inner_dims_, [&](int64_t d, int64_t i) { at += i * inner[d]; });
  return at;
}

// The same for an access that StartsWithRows; `extras` are its own.
int64_t TileProgram::PlaceOfRow(int32_t number, void* const* arguments, const int64_t* bases,
                                const int64_t* extras, int64_t position) const {
  int64_t place = PlaceOf(number, bases, position);
  for (const RuntimeStart& start : accesses_[number].starts) {
    if (!start.place.has_value()) continue;
    int64_t at = *extras++;
    EachDigit(position, inner_dims_, [&](int64_t d, int64_t i) { at += i * start.place->inner[d]; });
    const auto* positions = static_cast<const std::byte*>(arguments[start.argument]);
    const int64_t found = ReadInteger(start.type, positions + at * ByteCount(start.type));
    place += std::clamp<int64_t>(found, 0, start.max) * start.stride;
  }
  return place;
}

// One element as a lane, in `to` or where it is.
const std::byte* TileProgram::ReadScalar(ElementType type, const TileCall& widen, const std::byte* from,
                                         std::byte* to) {
  if (widen.function == nullptr) return from;
  if (type == ElementType::kBF16) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    const uint32_t wide = uint32_t{bits} << 16;
    std::memcpy(to, &wide, sizeof wide);
  } else {
    const void* in[] = {from};
    widen.function(1, to, in, widen.parameter);
  }
  return to;
}

// Where the tile's elements lie. Calls for the next tile's: a row may begin anywhere.
const void* TileProgram::Runner::RowOf(int32_t access, int32_t extras, int64_t begin, int64_t n) const {
  constexpr int64_t kLine = 64, kMost = 4096;  // Bytes.
  const auto* data = static_cast<const std::byte*>(arguments_[program_.accesses_[access].argument]);
  const int64_t width = program_.Width(access);
  const auto row = [&](int64_t position) {
    return data +
           program_.PlaceOfRow(access, arguments_, base_.data(), base_.data() + extras, position) * width;
  };
  if (begin + n < program_.inner_count_) {
    const std::byte* next = row(begin + n);
    for (int64_t b = 0; b < std::min(n * width, kMost); b += kLine) __builtin_prefetch(next + b);
  }
  return row(begin);
}

void TileProgram::Runner::RunDirect(int64_t begin, int64_t n) {
  using Kind = DirectPointer::Kind;
  for (const Chain& chain : program_.chains_) {
    ChainStep* steps = chain_steps_.data() + chain.begin;
    for (const DirectPointer& pointer : chain.direct) {
      const void* at = nullptr;
      if (pointer.kind == Kind::kComputed) {
        at = pointers_[pointer.value];
      } else if (pointer.kind == Kind::kRegister) {
        at = RegisterOf(pointer.value);
      } else if (pointer.kind == Kind::kRow) {
        at = RowOf(pointer.access, pointer.extras, begin, n);
      } else {
        const Access& access = program_.accesses_[pointer.access];
        int64_t place = base_[pointer.access];
        if (program_.patterns_[pointer.access] == Pattern::kDense)
          place += begin;
        else if (program_.patterns_[pointer.access] == Pattern::kStrided)
          place = program_.PlaceOf(pointer.access, base_.data(), begin);
        if (pointer.kind == Kind::kIota) {
          std::byte* to = RegisterOf(pointer.value);
          FillIota(program_.lane(pointer.value), 1, to, place, 0);
          at = to;
        } else {
          const auto* from =
              static_cast<const std::byte*>(arguments_[access.argument]) + place * pointer.width;
          at = pointer.kind == Kind::kScalar
                   ? ReadScalar(access.type, pointer.widen, from, RegisterOf(pointer.value))
                   : from;
        }
      }
      if (pointer.value >= 0) pointers_[pointer.value] = at;
      if (pointer.is_second)
        steps[pointer.step].second = at;
      else
        steps[pointer.step].operand = const_cast<void*>(at);
    }
    RunChain(n, steps, chain.pointers.data(), static_cast<int64_t>(chain.steps.size()));
  }
}

}  // namespace hlo::cpu
