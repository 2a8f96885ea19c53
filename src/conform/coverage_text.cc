// Prints coverage as a matrix, JSON lines or a summary.

#include <algorithm>

#include "conform/coverage.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace hlo::conform {
namespace {

std::string_view NameOfType(size_t type) { return Name(static_cast<ElementType>(type)); }
std::string_view NameOfOp(size_t op) { return Name(static_cast<Opcode>(op)); }

char Cell(const Coverage& coverage, size_t op, size_t type) {
  if (!coverage.accepted[op].test(type)) return '.';
  if (coverage.meaningless[op].test(type)) return '-';
  const auto evaluates = [&](size_t engine) { return coverage.engines[engine].second[op].test(type); };
  if (!evaluates(0)) return '!';
  const bool by_all = coverage.engines.size() > 1 && evaluates(1);
  if (coverage.tested[op].test(type)) return by_all ? 'X' : 'x';
  return by_all ? 'O' : 'o';
}

// Returns the row of a type in the summary: its class, narrow or wide.
std::string GroupOf(size_t index) {
  const auto type = static_cast<ElementType>(index);
  const int64_t bits = BitWidth(type);
  switch (Info(type).type_class) {
    case TypeClass::kPred:
      return "pred";
    case TypeClass::kSigned:
      return bits < 8 ? "signed, under 8 bits" : "signed";
    case TypeClass::kUnsigned:
      return bits < 8 ? "unsigned, under 8 bits" : "unsigned";
    case TypeClass::kFloat:
      return bits < 8 ? "floating, under 8 bits" : bits == 8 ? "floating, 8 bits" : "floating";
    case TypeClass::kComplex:
      return "complex";
  }
  return "";
}

}  // namespace

std::string CoverageTable(const Coverage& coverage) {
  constexpr size_t kNameWidth = 27;
  size_t height = 0;
  for (size_t type = 0; type < kElementTypeCount; ++type) height = std::max(height, NameOfType(type).size());
  std::string text;
  // Type names are written vertically above their columns.
  for (size_t line = 0; line < height; ++line) {
    text.append(kNameWidth, ' ');
    for (size_t type = 0; type < kElementTypeCount; ++type) {
      const std::string_view name = NameOfType(type);
      const size_t blanks = height - name.size();
      text += fmt::format(" {}", line < blanks ? ' ' : name[line - blanks]);
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    text += fmt::format("{:<{}}", NameOfOp(op), kNameWidth);
    for (size_t type = 0; type < kElementTypeCount; ++type)
      text += fmt::format(" {}", Cell(coverage, op, type));
    text += '\n';
  }
  return text +
         "\nx X evaluated, and a case exercises it; o O evaluated, but no case; X O by a kernel of the fast "
         "engine too, "
         "which otherwise takes the reference's function\n! valid, but not evaluated; - valid, but without a "
         "meaning; "
         ". not valid\n";
}

std::string CoverageJson(const Coverage& coverage) {
  std::string text;
  for (size_t op = 0; op < kOpcodeCount; ++op) {
    nlohmann::ordered_json types = nlohmann::ordered_json::object();
    for (size_t type = 0; type < kElementTypeCount; ++type) {
      if (!coverage.accepted[op].test(type) || coverage.meaningless[op].test(type)) continue;
      nlohmann::ordered_json engines = nlohmann::ordered_json::array();
      for (const auto& [name, evaluated] : coverage.engines) {
        if (evaluated[op].test(type)) engines.push_back(name);
      }
      types[std::string(NameOfType(type))] = {{"engines", engines},
                                              {"tested", coverage.tested[op].test(type)}};
    }
    const nlohmann::ordered_json line = {{"name", std::string(NameOfOp(op))}, {"types", types}};
    text += line.dump() + "\n";
  }
  return text;
}

std::string CoverageSummary(const Coverage& coverage) {
  struct Row {
    std::string group, types;
    std::vector<int64_t> counts;  // Valid, evaluated by each engine, in a case.
  };
  const size_t columns = coverage.engines.size() + 2;
  std::vector<Row> rows;
  Row total = {"all", "", std::vector<int64_t>(columns)};
  for (size_t type = 0; type < kElementTypeCount; ++type) {
    const std::string group = GroupOf(type);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.group == group; });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{group, "", std::vector<int64_t>(columns)});
    row->types += fmt::format("{}{}", row->types.empty() ? "" : " ", NameOfType(type));
    const auto count = [&](size_t column, const OpcodeTypes& types) {
      const auto with_type =
          std::count_if(types.begin(), types.end(), [&](const TypeBits& bits) { return bits.test(type); });
      row->counts[column] += with_type;
      total.counts[column] += with_type;
    };
    OpcodeTypes meant;
    for (size_t op = 0; op < kOpcodeCount; ++op)
      meant[op] = coverage.accepted[op] & ~coverage.meaningless[op];
    count(0, meant);
    for (size_t i = 0; i < coverage.engines.size(); ++i) count(i + 1, coverage.engines[i].second);
    count(columns - 1, coverage.tested);
  }
  rows.push_back(total);
  std::string text = "| element types | | valid |";
  for (const auto& engine : coverage.engines) text += fmt::format(" {} |", engine.first);
  text += " in a case |\n|---|---|";
  for (size_t i = 0; i < columns; ++i) text += "---|";
  for (const Row& row : rows) {
    text += fmt::format("\n| {} | {} |", row.group, row.types);
    for (const int64_t count : row.counts) text += fmt::format(" {} |", count);
  }
  return text + "\n";
}

}  // namespace hlo::conform
