#include "observe/profile.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

int32_t Profile::RowOf(const StepView& step) {
  const auto [found, added] =
      row_of_.try_emplace({&step.instruction(), step.kernel().data()}, static_cast<int32_t>(rows_.size()));
  if (added) rows_.push_back({&step.instruction(), step.kernel()});
  return found->second;
}

absl::Status Profile::BeforeStep(const StepView& step) {
  const int32_t row = RowOf(step);
  open_.push_back({row, Clock::now()});
  return absl::OkStatus();
}

Profile::Open Profile::Close(Clock::time_point end) {
  const Open open = open_.back();
  open_.pop_back();
  if (!open_.empty()) {
    open_.back().inner += end - open.begin;
    open_.back().has_inner = true;
  }
  rows_[open.row].seconds += Seconds(end - open.begin - open.inner);
  if (static_cast<int64_t>(events_.size()) < max_events_)
    events_.push_back({open.row, open.begin, end});
  else
    ++dropped_events_;
  return open;
}

absl::Status Profile::AfterStep(const StepView& step) {
  const Open open = Close(Clock::now());
  Row& row = rows_[open.row];
  // The cost of a step that contains other steps is counted in those.
  if (row.runs == 0 && !open.has_inner) row.cost = step.cost();
  ++row.runs;
  return absl::OkStatus();
}

void Profile::Finish(const absl::Status&) {
  const Clock::time_point end = Clock::now();
  while (!open_.empty()) Close(end);
}

std::vector<Profile::Row> Profile::ByInstruction() const {
  std::vector<Row> rows = rows_;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return rows;
}

std::vector<Profile::Group> Profile::ByOpcode() const {
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  for (const Row& row : rows_) {
    const std::string_view opcode = Name(row.instruction->opcode());
    Group& group = groups.try_emplace({opcode, row.kernel}, Group{opcode, row.kernel}).first->second;
    const auto runs = static_cast<double>(row.runs);
    group.runs += row.runs;
    group.seconds += row.seconds;
    group.flops += runs * static_cast<double>(row.cost.flops);
    group.bytes +=
        runs * (static_cast<double>(row.cost.bytes_read) + static_cast<double>(row.cost.bytes_written));
  }
  std::vector<Group> sorted;
  for (const auto& [key, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group& a, const Group& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string ChromeTrace(absl::Span<const Profile> profiles) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (size_t number = 0; number < profiles.size(); ++number) {
    const Profile& profile = profiles[number];
    for (const Profile::Event& event : profile.events_) {
      const Profile::Row& row = profile.rows_[event.row];
      events.push_back({{"name", row.instruction->name()},
                        {"cat", row.kernel},
                        {"ph", "X"},
                        {"ts", Seconds(event.begin - profile.start_) * 1e6},
                        {"dur", Seconds(event.end - event.begin) * 1e6},
                        {"pid", 0},
                        {"tid", number},
                        {"args",
                         {{"opcode", Name(row.instruction->opcode())},
                          {"flops", row.cost.flops},
                          {"bytes", row.cost.bytes_read + row.cost.bytes_written}}}});
    }
  }
  const nlohmann::ordered_json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return trace.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace hlo
