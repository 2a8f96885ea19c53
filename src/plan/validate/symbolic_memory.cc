#include "plan/validate/symbolic_memory.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace hlo::plan {

Terms::Terms() { Make(Op::kUndefined, {}, 0); }

Term Terms::Make(Op op, absl::Span<const int64_t> arguments, int64_t bytes) {
  const size_t begin = pool_.size();
  pool_.push_back(static_cast<int64_t>(op));
  pool_.insert(pool_.end(), arguments.begin(), arguments.end());
  const Row row(pool_.data() + begin, pool_.size() - begin);
  if (const auto found = terms_.find(row); found != terms_.end()) {
    pool_.resize(begin);
    return *found;
  }
  const auto term = static_cast<Term>(bytes_.size());
  begins_.push_back(pool_.size());
  bytes_.push_back(bytes);
  terms_.insert(term);
  return term;
}

Term Terms::Constant(const void* data, int64_t bytes) {
  const auto [entry, is_new] = string_numbers_.try_emplace(std::string(static_cast<const char*>(data), bytes),
                                                           static_cast<int64_t>(string_numbers_.size()));
  const Term term = Make(Op::kConstant, {entry->second}, bytes);
  if (is_new) strings_[term] = entry->first;
  return term;
}

const std::string* Terms::ConstantBytes(Term term) const {
  const auto found = strings_.find(term);
  return found == strings_.end() ? nullptr : &found->second;
}

const Terms::Range* Terms::FindRange(Term address) const {
  const auto found = ranges_.find(address);
  return found == ranges_.end() ? nullptr : &found->second;
}

bool HasUndefined(absl::Span<const Piece> pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.term == kUndefined; });
}

Term Combine(Terms& terms, absl::Span<const Piece> pieces) {
  Pieces parts;
  int64_t bytes = 0;
  bool is_constant = true;
  for (const Piece& piece : pieces) {
    bytes += piece.bytes;
    is_constant &= terms.ConstantBytes(piece.term) != nullptr;
    Piece* last = parts.empty() ? nullptr : &parts.back();
    if (last != nullptr && last->term == piece.term &&
        (piece.term == kUndefined || last->offset + last->bytes == piece.offset))
      last->bytes += piece.bytes;
    else
      parts.push_back(piece);
  }
  if (is_constant) {
    std::string joined;
    for (const Piece& part : parts) joined += terms.ConstantBytes(part.term)->substr(part.offset, part.bytes);
    return terms.Constant(joined.data(), bytes);
  }
  if (parts.size() == 1) {
    const Piece& part = parts[0];
    if (part.term == kUndefined || (part.offset == 0 && part.bytes == terms.Bytes(part.term)))
      return part.term;
    return terms.Make(Terms::Op::kExtract, {part.term, part.offset, part.bytes}, bytes);
  }
  absl::InlinedVector<int64_t, 12> arguments;
  for (const Piece& part : parts) arguments.insert(arguments.end(), {part.term, part.offset, part.bytes});
  return terms.Make(Terms::Op::kConcat, arguments, bytes);
}

Pieces SymbolicMemory::Read(int32_t object, int64_t begin, int64_t bytes) const {
  Pieces pieces;
  // An empty range holds nothing.
  if (bytes == 0) return pieces;
  const auto& [whole, parts] = objects_[object];
  const int64_t end = begin + bytes;
  int64_t next = begin;
  const auto take = [&](int64_t at, const Piece& from) {
    if (at > next) pieces.push_back({kUndefined, 0, at - next});
    next = std::max(next, at);
    const int64_t taken = std::min(at + from.bytes, end) - next;
    pieces.push_back({from.term, from.offset + next - at, taken, from.writer});
    next += taken;
  };
  if (parts == nullptr) {
    if (begin < whole.bytes && bytes > 0) take(0, whole);
  } else {
    auto at = parts->upper_bound(begin);
    if (at != parts->begin() && std::prev(at)->first + std::prev(at)->second.bytes > begin) --at;
    for (; at != parts->end() && at->first < end; ++at) take(at->first, at->second);
  }
  if (next < end) pieces.push_back({kUndefined, 0, end - next});
  return pieces;
}

void SymbolicMemory::Cut(Parts& parts, int64_t at) {
  const auto next = parts.upper_bound(at);
  if (next == parts.begin()) return;
  auto& [begin, piece] = *std::prev(next);
  if (begin == at || begin + piece.bytes <= at) return;
  Piece rest = piece;
  rest.offset += at - begin;
  rest.bytes -= at - begin;
  piece.bytes = at - begin;
  parts.emplace(at, rest);
}

void SymbolicMemory::Put(int32_t number, int64_t begin, absl::Span<const Piece> pieces) {
  auto& [whole, parts] = objects_[number];
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  const auto end = [](const Parts& all) {
    return all.empty() ? 0 : std::prev(all.end())->first + std::prev(all.end())->second.bytes;
  };
  if (begin == 0 && pieces.size() == 1 && bytes >= (parts == nullptr ? whole.bytes : end(*parts))) {
    parts = nullptr;
    whole = pieces[0].term == kUndefined ? Piece() : pieces[0];
    return;
  }
  if (parts == nullptr) {
    parts = std::make_unique<Parts>();
    if (whole.bytes > 0) parts->emplace(0, whole);
    whole = Piece();
  }
  Cut(*parts, begin);
  Cut(*parts, begin + bytes);
  parts->erase(parts->lower_bound(begin), parts->lower_bound(begin + bytes));
  for (const Piece& piece : pieces) {
    if (piece.term != kUndefined && piece.bytes > 0) parts->emplace(begin, piece);
    begin += piece.bytes;
  }
}

void SymbolicMemory::Write(int32_t object, int64_t begin, absl::Span<const Piece> pieces) {
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  if (bytes == 0) return;
  if (open_ > 0) saved_.push_back({{object, begin, bytes}, Read(object, begin, bytes)});
  Put(object, begin, pieces);
}

void SymbolicMemory::Erase(int32_t object, int64_t begin, int64_t bytes) {
  const Piece undefined = {kUndefined, 0, bytes};
  Write(object, begin, {&undefined, 1});
}

size_t SymbolicMemory::Begin() {
  ++open_;
  return saved_.size();
}

std::vector<SymbolicMemory::Change> SymbolicMemory::Changes(size_t mark) const {
  std::vector<Change> changes;
  for (size_t k = mark; k < saved_.size(); ++k) changes.push_back(saved_[k].change);
  if (changes.size() < 2) return changes;
  const auto key = [](const Change& c) { return std::tuple(c.object, c.begin, c.bytes); };
  std::sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  changes.erase(std::unique(changes.begin(), changes.end(),
                            [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                changes.end());
  return changes;
}

void SymbolicMemory::Rollback(size_t mark) {
  while (saved_.size() > mark) {
    const Saved& last = saved_.back();
    Put(last.change.object, last.change.begin, last.before);
    saved_.pop_back();
  }
  --open_;
}

}  // namespace hlo::plan
