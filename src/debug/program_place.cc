#include "debug/program_place.h"

#include "fmt/format.h"

namespace hlo::debug {
namespace {

// The ids of the tables count from 1; other ids name nothing.
template <class T>
const T* Entry(const std::vector<T>& table, int32_t id) {
  return id >= 1 && static_cast<size_t>(id) <= table.size() ? &table[static_cast<size_t>(id) - 1] : nullptr;
}

std::string NameIn(const std::vector<std::string_view>& names, int32_t id) {
  const std::string_view* name = Entry(names, id);
  return name == nullptr ? "" : std::string(*name);
}

std::vector<ProgramPlace> FramePlaces(const SourceTables& tables, int32_t frame_id) {
  std::vector<ProgramPlace> places;
  // A frame has fewer ancestors than there are frames, unless the table has a cycle.
  for (size_t i = 0; i < tables.stack_frames.size(); ++i) {
    const StackFrame* frame = Entry(tables.stack_frames, frame_id);
    const FileLocation* place =
        frame == nullptr ? nullptr : Entry(tables.file_locations, frame->file_location_id);
    if (place == nullptr) break;
    places.push_back({NameIn(tables.file_names, place->file_name_id),
                      NameIn(tables.function_names, place->function_name_id), place->line});
    frame_id = frame->parent_frame_id;
  }
  return places;
}

}  // namespace

std::vector<ProgramPlace> ProgramPlaces(const Instruction& instruction) {
  const Metadata* metadata = instruction.Get<attr::metadata>();
  if (metadata == nullptr) return {};
  std::vector<ProgramPlace> places =
      FramePlaces(instruction.parent()->module()->header().tables, metadata->stack_frame_id);
  if (places.empty() && !metadata->source_file.empty())
    places.push_back({std::string(metadata->source_file), "", metadata->source_line});
  return places;
}

std::string SourceLine(const Instruction& instruction) {
  const std::vector<ProgramPlace> places = ProgramPlaces(instruction);
  return places.empty() ? "" : fmt::format("{}:{}", places.front().file, places.front().line);
}

}  // namespace hlo::debug
