#include "debug/diff/diff_sharded.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "debug/dataflow.h"
#include "debug/exposed_run.h"
#include "debug/report_text.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "spmd/shards.h"

namespace hlo::debug {
namespace {

struct Pair {
  const Instruction *a = nullptr, *b = nullptr;
  std::string_view by;
};

std::string_view OpName(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  return metadata == nullptr ? std::string_view() : metadata->op_name;
}

using Found = absl::flat_hash_map<std::string, const Instruction*>;

// Returns the instructions by a key that only one of them has; empty keys do not count.
template <class Key>
Found ByKey(const Module& module, const Key& key) {
  Found found;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      std::string text = key(*instruction);
      if (text.empty()) continue;
      const auto [entry, is_new] = found.emplace(std::move(text), instruction);
      if (!is_new) entry->second = nullptr;
    }
  }
  return found;
}

// Aligns instructions of the same opcode and op_name by their names, then by op_name.
std::vector<Pair> AlignNames(const Module& a, const Module& b) {
  const auto by_op_name = [](const Instruction& i) {
    return OpName(i).empty() ? std::string() : fmt::format("{} {}", Name(i.opcode()), OpName(i));
  };
  const auto by_name = [](const Instruction& i) {
    return fmt::format("{} {} {}", i.name(), Name(i.opcode()), OpName(i));
  };
  const Found names = ByKey(b, by_name), op_names = ByKey(b, by_op_name),
              op_names_of_a = ByKey(a, by_op_name);
  const auto find = [](const Found& found, const std::string& key) {
    const auto entry = found.find(key);
    return entry == found.end() ? nullptr : entry->second;
  };
  std::vector<Pair> pairs;
  for (const Computation* computation : a.computations()) {
    for (const Instruction* i : computation->instructions()) {
      if (const Instruction* same = find(names, by_name(*i)))
        pairs.push_back({i, same, "name"});
      else if (const Instruction* alike = find(op_names, by_op_name(*i));
               alike && find(op_names_of_a, by_op_name(*i)) == i)
        pairs.push_back({i, alike, "op_name"});
    }
  }
  return pairs;
}

// The arrays of some instructions in a run. Instructions that run several times have nullopt.
class RecordedArrays {
 public:
  RecordedArrays(absl::flat_hash_set<const Instruction*> wanted, int64_t max_bytes)
      : wanted_(std::move(wanted)), left_(max_bytes) {}

  absl::Status Keep(const Instruction* instruction, int64_t leaf, const Literal& value) {
    if (!wanted_.contains(instruction) || value.byte_count() > left_) return absl::OkStatus();
    const auto [found, is_new] = values_.try_emplace(LeafId{instruction, leaf}, std::nullopt);
    if (!is_new) {
      found->second.reset();
      return absl::OkStatus();
    }
    left_ -= value.byte_count();
    found->second = value;
    return found->second->MakeUnique();
  }
  const Literal* Find(const LeafId& leaf) const {
    const auto found = values_.find(leaf);
    return found == values_.end() || !found->second.has_value() ? nullptr : &*found->second;
  }

 private:
  absl::flat_hash_set<const Instruction*> wanted_;
  int64_t left_;
  absl::flat_hash_map<LeafId, std::optional<Literal>> values_;
};

// Returns the map of an array that an annotation of either instruction gives, if it gives tiles of this
// shape.
std::optional<spmd::TileMap> MapOf(const Pair& pair, int64_t leaf, const Literal& whole, const Literal& tile,
                                   int64_t partitions) {
  for (const Instruction* instruction : {pair.b, pair.a}) {
    const Sharding* sharding = instruction->Get<attr::sharding>();
    if (sharding == nullptr) continue;
    const auto shardings = spmd::LeafShardings(sharding, pair.a->shape());
    if (!shardings.ok() || leaf >= static_cast<int64_t>(shardings->size())) continue;
    absl::StatusOr<spmd::TileMap> map =
        spmd::TileMap::Make((*shardings)[static_cast<size_t>(leaf)], whole.rank(), partitions);
    if (!map.ok() || map->manual_count() != 1 || map->unreduced_count() != 1) continue;
    const Index dims = map->TileDims(whole.dims());
    if (std::equal(dims.begin(), dims.end(), tile.dims().begin(), tile.dims().end())) return *std::move(map);
  }
  return std::nullopt;
}

bool HaveEqualBits(const Literal& a, const Literal& b) {
  return a.byte_count() == b.byte_count() && std::equal(a.data(), a.data() + a.byte_count(), b.data());
}

bool AreCopies(const std::vector<const Literal*>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](const Literal* value) { return HaveEqualBits(*values[0], *value); });
}

class Comparison {
 public:
  Comparison(const DiffOptions& options, ShardedDiff& diff) : options_(options), diff_(diff) {}

  // Compares the values of a pair by device. Those of `a` differ between devices in manual regions alone.
  absl::Status Compare(const Pair& pair, int64_t leaf, const std::vector<const Literal*>& of_a,
                       const std::vector<const Literal*>& of_b) {
    const Literal &whole = *of_a[0], &tile = *of_b[0];
    if (tile.type() != whole.type() || tile.rank() != whole.rank()) return Skip();
    const bool is_manual = !AreCopies(of_a), has_same_shape = tile.dims() == whole.dims();
    const auto partitions = static_cast<int64_t>(of_b.size());
    std::optional<spmd::TileMap> map;
    if (!is_manual) map = MapOf(pair, leaf, whole, tile, partitions);
    const bool is_known = map.has_value() || (has_same_shape && (is_manual || AreCopies(of_b)));
    if (!is_known) return Skip();
    ++diff_.compared;
    for (int64_t p = 0; p < partitions; ++p) {
      Literal want = *of_a[is_manual ? static_cast<size_t>(p) : 0];
      if (map) {
        HLO_ASSIGN_OR_RETURN(want, spmd::TileOf(whole, *map, p));
      }
      CompareReport report =
          CompareArrays(*of_b[static_cast<size_t>(p)], want, RuleFor(whole.type(), options_));
      if (report.ok()) continue;
      ++diff_.differing;
      if (!diff_.first)
        diff_.first =
            ShardedDiff::Value{pair.a, pair.b, std::string(pair.by), map.has_value(), p, std::move(report)};
      break;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Skip() {
    ++diff_.unknown;
    return absl::OkStatus();
  }
  const DiffOptions& options_;
  ShardedDiff& diff_;
};

// Returns the values of all devices; none if a device has none.
std::vector<const Literal*> FindAll(const std::vector<RecordedArrays>& kept, const LeafId& leaf) {
  std::vector<const Literal*> values;
  for (const RecordedArrays& device_values : kept) values.push_back(device_values.Find(leaf));
  const bool is_complete = std::find(values.begin(), values.end(), nullptr) == values.end();
  return is_complete ? values : std::vector<const Literal*>();
}

absl::StatusOr<std::vector<Literal>> RunAndRecord(const CheckedModule& module,
                                                  const std::vector<std::vector<Literal>>& arguments,
                                                  const DevicesOptions& devices, const DiffOptions& options,
                                                  std::vector<RecordedArrays>& kept) {
  HLO_ASSIGN_OR_RETURN(Executable executable,
                       Executable::Make(module, options.engine, options.evaluate, {}, ExposingPlanOptions()));
  std::vector<ArrayWatcher> watchers;
  for (RecordedArrays& device_values : kept)
    watchers.emplace_back(
        [&device_values](const Instruction* instruction, int64_t leaf, const Literal& value) {
          return device_values.Keep(instruction, leaf, value);
        });
  DevicesOptions run = devices;
  run.observer = [&](int64_t device) -> Observer* { return &watchers[static_cast<size_t>(device)]; };
  return executable.RunDevices(arguments, options.evaluate, run);
}

void CompareResults(const Literal& a, const Literal& joined, const DiffOptions& options, ShardedDiff& diff) {
  const std::vector<Leaf> want = LeavesOf(a), got = LeavesOf(joined);
  for (size_t k = 0; k < want.size() && k < got.size(); ++k) {
    CompareReport report =
        CompareArrays(*got[k].value, *want[k].value, RuleFor(want[k].value->type(), options));
    if (!report.ok()) diff.results.push_back({want[k].leaf, std::move(report)});
  }
}

}  // namespace

absl::StatusOr<ShardedDiff> DiffSharded(const CheckedModule& a, const CheckedModule& b,
                                        const std::vector<std::vector<Literal>>& arguments_a,
                                        const std::vector<std::vector<Literal>>& arguments_b,
                                        const spmd::EntryShards& shards, const DevicesOptions& devices,
                                        const DiffOptions& options) {
  const std::vector<Pair> pairs = AlignNames(a.module(), b.module());
  absl::flat_hash_set<const Instruction*> of_a, of_b;
  for (const Pair& pair : pairs) {
    of_a.insert(pair.a);
    of_b.insert(pair.b);
  }
  const auto share = [&](size_t count) { return options.max_bytes / static_cast<int64_t>(count); };
  std::vector<RecordedArrays> recorded_a(arguments_a.size(), RecordedArrays(of_a, share(arguments_a.size())));
  std::vector<RecordedArrays> recorded_b(arguments_b.size(), RecordedArrays(of_b, share(arguments_b.size())));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> results,
                       RunAndRecord(a, arguments_a, devices, options, recorded_a));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> parts,
                       RunAndRecord(b, arguments_b, devices, options, recorded_b));
  HLO_ASSIGN_OR_RETURN(spmd::JoinedResult joined, shards.Join(parts));
  ShardedDiff diff;
  diff.disagreements = std::move(joined.disagreements);
  CompareResults(results[0], joined.value, options, diff);
  Comparison comparison(options, diff);
  for (const Pair& pair : pairs) {
    for (int64_t leaf = 0; leaf < pair.a->shape().LeafCount(); ++leaf) {
      const std::vector<const Literal*> values = FindAll(recorded_a, {pair.a, leaf}),
                                        tiles = FindAll(recorded_b, {pair.b, leaf});
      if (values.empty() || tiles.empty()) continue;
      HLO_RETURN_IF_ERROR(comparison.Compare(pair, leaf, values, tiles));
    }
  }
  return diff;
}

std::string ToText(const ShardedDiff& diff, const Module& module) {
  std::string text;
  for (const ShardedDiff::Result& result : diff.results)
    text += fmt::format("{}:\n{}", PlaceText(module.entry()->root()->shape(), result.leaf, {}),
                        ToString(result.report, 2));
  for (const std::string& disagreement : diff.disagreements) text += disagreement + "\n";
  if (text.empty()) text = "no joined result differs\n";
  text += fmt::format("{} of {} aligned values differ; how {} others are split is not known\n",
                      diff.differing, diff.compared, diff.unknown);
  if (!diff.first) return text;
  return text + fmt::format("the first, aligned by {}, {} partition {}:\n  {}\n  {}\n{}",
                            diff.first->aligned_by, diff.first->is_tile ? "on" : "copied, on",
                            diff.first->partition, ShortText(*diff.first->a), ShortText(*diff.first->b),
                            ToString(diff.first->report, 2));
}

nlohmann::ordered_json ToJson(const ShardedDiff& diff) {
  using Json = nlohmann::ordered_json;
  Json json = {{"results", Json::array()},
               {"disagreements", diff.disagreements},
               {"compared", diff.compared},
               {"differing", diff.differing},
               {"unknown", diff.unknown}};
  for (const ShardedDiff::Result& result : diff.results)
    json["results"].push_back(Json{{"result", result.leaf}, {"report", ToString(result.report)}});
  if (diff.first) {
    json["first"] = {{"a", diff.first->a->name()},
                     {"b", diff.first->b->name()},
                     {"aligned_by", diff.first->aligned_by},
                     {"partition", diff.first->partition},
                     {"report", ToString(diff.first->report)}};
  }
  return json;
}

}  // namespace hlo::debug
