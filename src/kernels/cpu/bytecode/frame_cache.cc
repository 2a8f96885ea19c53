#include "kernels/cpu/bytecode/frame_cache.h"

#include <algorithm>

namespace hlo::cpu {
namespace {

bool Overlap(const FrameScalar& a, const Bytecode::Bytes& b) {
  return a.at < b.begin + b.count && b.begin < int64_t{a.at} + a.bytes;
}
bool Overlap(const FrameScalar& a, const FrameScalar& b) {
  return Overlap(a, Bytecode::Bytes{b.at, b.bytes});
}
bool IsWithin(const FrameScalar& a, const FrameScalar& b) {
  return b.at <= a.at && a.at + a.bytes <= b.at + b.bytes;
}
// Functions preserve rbp and r14.
bool SurvivesCalls(Register reg) {
  return reg.bank == Bank::kGeneral && (reg.number == 5 || reg.number == 14);
}

}  // namespace

void FrameCache::StoreScalar(const FrameScalar& scalar, Register reg) {
  ForgetVectors({scalar.at, scalar.bytes});
  const Xbyak::Address to = InFrame(scalar.at);
  if (reg.bank == Bank::kVector) {
    scalar.bytes == 4 ? vmovss(to, Vector(reg)) : vmovsd(to, Vector(reg));
    return;
  }
  switch (scalar.bytes) {
    case 1:
      return mov(to, Long(reg).cvt8());
    case 2:
      return mov(to, Long(reg).cvt16());
    case 4:
      return mov(to, Word(reg));
    default:
      return mov(to, Long(reg));
  }
}

void FrameCache::LoadScalar(const FrameScalar& scalar, Register reg) {
  if (reg.bank == Bank::kVector) {
    scalar.bytes == 4 ? vmovss(Vector(reg), InFrame(scalar.at)) : vmovsd(Vector(reg), InFrame(scalar.at));
    return;
  }
  switch (scalar.bytes) {
    case 1:
      return movzx(Word(reg), byte[rbx + scalar.at]);
    case 2:
      return movzx(Word(reg), word[rbx + scalar.at]);
    case 4:
      return mov(Word(reg), InFrame(scalar.at));
    default:
      return mov(Long(reg), InFrame(scalar.at));
  }
}

void FrameCache::MoveRegister(Register to, Register from) {
  if (to == from) return;
  if (to.bank == Bank::kVector)
    from.bank == Bank::kVector ? vmovaps(Vector(to), Vector(from)) : vmovq(Vector(to), Long(from));
  else
    from.bank == Bank::kVector ? vmovq(Long(to), Vector(from)) : mov(Long(to), Long(from));
}

const FrameCache::Entry* FrameCache::Find(const FrameScalar& scalar) const {
  for (const Entry& entry : entries_) {
    if (entry.scalar == scalar && entry.is_valid) return &entry;
  }
  return nullptr;
}

bool FrameCache::IsInUse(Register reg) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.reg == reg; });
}
bool FrameCache::IsLocked(Register reg) const {
  return std::find(locked_.begin(), locked_.end(), reg) != locked_.end();
}

Register FrameCache::Allocate(Bank bank, bool may_be_locked) {
  const int count = bank == Bank::kVector ? kVectorCount : static_cast<int>(kGeneral.size());
  for (int k = 0; k < count; ++k) {
    const Register reg = {bank, bank == Bank::kVector ? k : kGeneral[k]};
    if (!IsInUse(reg) && (may_be_locked || !IsLocked(reg))) return reg;
  }
  // Evicts the least recently used register, with all scalars that it holds.
  for (const Entry& entry : entries_) {
    const Register reg = entry.reg;
    const bool is_pinned = std::any_of(entries_.begin(), entries_.end(),
                                       [&](const Entry& each) { return each.reg == reg && each.is_pinned; });
    if (reg.bank != bank || is_pinned || IsLocked(reg)) continue;
    for (const Entry& each : entries_) {
      if (each.reg == reg && each.is_dirty) StoreScalar(each.scalar, reg);
    }
    std::erase_if(entries_, [&](const Entry& each) { return each.reg == reg; });
    return reg;
  }
  has_failed_ = true;
  return {bank, bank == Bank::kVector ? 0 : kGeneral[0]};
}

void FrameCache::DropOverlaps(const FrameScalar& scalar, bool overwrites) {
  for (const Entry& entry : entries_) {
    if (entry.is_pinned || entry.scalar == scalar || !entry.is_dirty || !Overlap(entry.scalar, scalar))
      continue;
    if (!overwrites || !IsWithin(entry.scalar, scalar)) StoreScalar(entry.scalar, entry.reg);
  }
  std::erase_if(entries_, [&](const Entry& entry) {
    return !entry.is_pinned && entry.scalar != scalar && Overlap(entry.scalar, scalar);
  });
}

Register FrameCache::Use(const FrameScalar& scalar, Bank bank) {
  Register reg;
  if (Entry* entry = Find(scalar)) {
    if (entry->reg.bank == bank) {
      reg = entry->reg;
      if (!entry->is_pinned) {
        const Entry used = *entry;
        entries_.erase(entries_.begin() + (entry - entries_.data()));
        entries_.push_back(used);
      }
    } else {
      // The value moves to the other bank, unless it is pinned.
      const Register from = entry->reg;
      locked_.push_back(from);
      reg = Allocate(bank);
      MoveRegister(reg, from);
      if (Entry* moved = Find(scalar); moved != nullptr && !moved->is_pinned) moved->reg = reg;
    }
  } else {
    DropOverlaps(scalar, false);
    reg = Allocate(bank);
    LoadScalar(scalar, reg);
    entries_.push_back({scalar, reg});
  }
  locked_.push_back(reg);
  return reg;
}

void FrameCache::Release(const FrameScalar& scalar) {
  std::erase_if(entries_, [&](const Entry& entry) { return !entry.is_pinned && entry.scalar == scalar; });
}

Register FrameCache::Define(const FrameScalar& scalar, Bank bank) {
  DropOverlaps(scalar, true);
  for (Entry& entry : entries_) {
    if (entry.scalar != scalar || !entry.is_pinned) continue;
    const Register reg = entry.reg;
    entry.is_valid = true;
    // Copies of the old value move elsewhere.
    const bool is_shared = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& each) {
      return each.reg == reg && each.scalar != scalar;
    });
    if (is_shared) {
      locked_.push_back(reg);
      const Register other = Allocate(reg.bank);
      MoveRegister(other, reg);
      for (Entry& each : entries_) {
        if (each.reg == reg && each.scalar != scalar) each.reg = other;
      }
    }
    if (reg.bank == bank) return reg;
    const Register result = Allocate(bank, true);
    locked_.push_back(result);
    move_at_end_ = {reg, result};
    return result;
  }
  Release(scalar);
  const Register reg = Allocate(bank, true);
  entries_.push_back({scalar, reg, true});
  locked_.push_back(reg);
  return reg;
}

void FrameCache::DefineCopy(const FrameScalar& to, Register from) {
  const auto pinned = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const Entry& entry) { return entry.is_pinned && entry.scalar == to; });
  if (pinned != entries_.end()) return MoveRegister(Define(to, pinned->reg.bank), from);
  DropOverlaps(to, true);
  Release(to);
  entries_.push_back({to, from, true});
}

void FrameCache::EndOperation() {
  if (move_at_end_.has_value()) MoveRegister(move_at_end_->first, move_at_end_->second);
  move_at_end_.reset();
  locked_.clear();
}

void FrameCache::Flush(const Bytecode::Bytes& bytes) {
  for (Entry& entry : entries_) {
    if (!entry.is_dirty || !entry.is_valid || !Overlap(entry.scalar, bytes)) continue;
    StoreScalar(entry.scalar, entry.reg);
    if (!entry.is_pinned) entry.is_dirty = false;
  }
}

void FrameCache::BeforeWrite(const Bytecode::Bytes& bytes, bool forgets_vectors) {
  Flush(bytes);
  if (forgets_vectors) ForgetVectors(bytes);
  std::erase_if(entries_,
                [&](const Entry& entry) { return !entry.is_pinned && Overlap(entry.scalar, bytes); });
}

void FrameCache::AfterWrite(const Bytecode::Bytes& bytes) {
  for (Entry& entry : entries_) {
    if (!entry.is_pinned || !Overlap(entry.scalar, bytes)) continue;
    LoadScalar(entry.scalar, entry.reg);
    entry.is_valid = true;
  }
}

std::optional<int> FrameCache::FindVector(FrameOffset at, int32_t bytes) const {
  for (const KeptVector& kept : vectors_) {
    if (kept.bytes.begin == at && kept.bytes.count == bytes) return kept.number;
  }
  return std::nullopt;
}

std::optional<int> FrameCache::KeepVector(FrameOffset at, int32_t bytes) {
  if (FindNativeIsa() != NativeIsa::kAvx512) return std::nullopt;
  ForgetVectors({at, bytes});
  int number = kFirstKept;
  const auto is_used = [&](const KeptVector& kept) { return kept.number == number; };
  while (number <= kLastKept && std::any_of(vectors_.begin(), vectors_.end(), is_used)) ++number;
  if (number > kLastKept) {
    number = vectors_.front().number;
    vectors_.erase(vectors_.begin());
  }
  vectors_.push_back({{at, bytes}, number});
  return number;
}

void FrameCache::ForgetVectors(const Bytecode::Bytes& bytes) {
  std::erase_if(vectors_, [&](const KeptVector& kept) {
    return kept.bytes.begin < bytes.begin + bytes.count && bytes.begin < kept.bytes.begin + kept.bytes.count;
  });
}

void FrameCache::BeforeCall() {
  ForgetVectors();
  for (const Entry& entry : entries_) {
    if (entry.is_dirty && entry.is_valid && !SurvivesCalls(entry.reg)) StoreScalar(entry.scalar, entry.reg);
  }
  std::erase_if(entries_, [](const Entry& entry) { return !entry.is_pinned && !SurvivesCalls(entry.reg); });
  LeaveWideVectors();
}

void FrameCache::AfterCall() {
  for (const Entry& entry : entries_) {
    if (entry.is_pinned && entry.is_valid && !SurvivesCalls(entry.reg)) LoadScalar(entry.scalar, entry.reg);
  }
}

}  // namespace hlo::cpu
