#include "spmd/ragged_exchange.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"

namespace hlo::spmd {
namespace {

int64_t CountOverlaps(absl::Span<const RowMove> moves, size_t target) {
  std::vector<std::pair<int64_t, int64_t>> rows;
  for (const RowMove& move : moves) {
    if (move.target == target) rows.emplace_back(move.to, move.to + move.count);
  }
  std::sort(rows.begin(), rows.end());
  int64_t overlaps = 0;
  for (size_t i = 1; i < rows.size(); ++i) overlaps += rows[i].first < rows[i - 1].second ? 1 : 0;
  return overlaps;
}

}  // namespace

absl::Status CheckRows(const RowMove& move, int64_t input_rows, int64_t output_rows, size_t update) {
  const auto check = [&](std::string_view array, int64_t begin, int64_t rows) -> absl::Status {
    if (move.count >= 0 && begin >= 0 && begin <= rows && move.count <= rows - begin) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format("update {} takes {} from row {} on, but {} has {}",
                                                     update, Counted(move.count, "row"), begin, array,
                                                     Counted(rows, "row")));
  };
  if (move.count == 0) return absl::OkStatus();
  HLO_RETURN_IF_ERROR(check("input", move.from, input_rows));
  return check("output", move.to, output_rows);
}

absl::StatusOr<RaggedExchange> RaggedExchangeOf(absl::Span<const RaggedMember> members) {
  const size_t count = members.size(), entries = members[0].send_sizes.size();
  if (entries % count != 0) {
    return absl::FailedPreconditionError(fmt::format(
        "there are {} offsets and sizes, which is not a multiple of the group's {} members", entries, count));
  }
  const size_t updates = entries / count;
  RaggedExchange exchange;
  for (size_t k = 0; k < count; ++k) {
    for (size_t entry = 0; entry < entries; ++entry) {
      const size_t j = entry / updates, u = entry % updates;
      const RowMove move{k, j, members[k].input_offsets[entry], members[k].send_sizes[entry],
                         members[k].output_offsets[entry]};
      const int64_t expected = members[j].receive_sizes[k * updates + u];
      if (move.count != expected) {
        return absl::FailedPreconditionError(
            fmt::format("member {} sends {} rows to member {} in update {}, but the receiver expects {}", k,
                        move.count, j, u, expected));
      }
      HLO_RETURN_IF_ERROR(CheckRows(move, members[k].input_rows, members[j].output_rows, entry));
      if (move.count > 0) exchange.moves.push_back(move);
    }
  }
  for (size_t j = 0; j < count; ++j) exchange.overlaps += CountOverlaps(exchange.moves, j);
  return exchange;
}

}  // namespace hlo::spmd
