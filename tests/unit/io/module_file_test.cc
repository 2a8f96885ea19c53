// Tests that serialised modules (make_protos.py) become the text that XLA prints for them.

#include <cstring>

#include "helpers.h"
#include "hlo_run/print.h"

namespace hlo::module_file_test {
namespace {

std::shared_ptr<Module> Parsed(const absl::StatusOr<ModuleFile>& file) {
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return nullptr;
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(file->text, diagnostics);
  EXPECT_NE(module, nullptr) << Render(diagnostics, *file->text);
  return module;
}

absl::StatusOr<ModuleFile> ReadBytes(const std::string& name, const std::string& bytes) {
  return ParseModuleFile(std::make_shared<const SourceText>(name, bytes));
}

TEST(ModuleFile, ModulesReadAsXlaPrintsThem) {
  const std::string bytes = BytesOf(Data("modules.bin"));
  PrintOptions options = PrintOptions::Xla(PrintForm::kLong);
  options.large_constants = true;
  int count = 0;
  for (size_t at = 0; at < bytes.size(); ++count) {
    uint32_t sizes[3];
    ASSERT_LE(at + sizeof sizes, bytes.size());
    std::memcpy(sizes, bytes.data() + at, sizeof sizes);
    at += sizeof sizes;
    std::string parts[3];
    for (int i = 0; i < 3; ++i) {
      parts[i] = bytes.substr(at, sizes[i]);
      at += sizes[i];
    }
    // Recognised by file name, and by content.
    for (const char* ending : {".pb", ""}) {
      const std::shared_ptr<Module> module = Parsed(ReadBytes(parts[0] + ending, parts[1]));
      ASSERT_NE(module, nullptr) << parts[0];
      EXPECT_EQ(Print(*module, options), parts[2]) << parts[0];
    }
  }
  EXPECT_GE(count, 120);
}

// tools/golden/spmd_cases.py writes the file.
TEST(ModuleFile, PartitionedModulesHaveTheShardingsThatTheyRecord) {
  const std::shared_ptr<Module> module = Parsed(ReadModuleFile(Data("partitioned.pb")));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->header().num_partitions, 8);
  const auto text = [](const Instruction& instruction) {
    const std::string print = Print(instruction);
    return print.substr(print.find("sharding="), print.find(", metadata=") - print.find("sharding="));
  };
  const std::string sharding = "{mesh['data'=2,'model'=4], [{'model', 'data'}, {}]}";
  EXPECT_EQ(text(*module->entry()->parameter(0)), "sharding=" + sharding);
  EXPECT_EQ(text(*module->entry()->parameter(1)), "sharding={mesh[], replicated}");
  EXPECT_EQ(text(*module->entry()->root()), "sharding={" + sharding + ", {mesh[], replicated}}");
}

TEST(ModuleFile, SnapshotsContainArgumentsAndResult) {
  const absl::StatusOr<ModuleFile> file = ReadModuleFile(Data("snapshot.pb"));
  ASSERT_NE(Parsed(file), nullptr);
  ASSERT_TRUE(file->arguments && file->result);
  ASSERT_EQ(file->arguments->size(), 2u);
  EXPECT_EQ(ToString((*file->arguments)[1]), "{ { 1, 10 }, { 100, 1000 } }");
  EXPECT_EQ(ToString(*file->result), "{ { 201, 2010 }, { 403, 4030 } }");
}

constexpr char kProtoText[] = R"(
hlo_module {
  name: "m" entry_computation_name: "e" entry_computation_id: 7 a_later_field: "passed over"
  computations {
    name: "e" id: 7 root_id: 2
    instructions {
      name: "x y" opcode: "parameter" id: 1
      shape { element_type: U8 dimensions: 2 dimensions: 3 layout { minor_to_major: 0 minor_to_major: 1
              padded_dimensions: 3 padded_dimensions: 5 } }
    }
    instructions {
      name: "n" opcode: "constant" id: 2 shape { element_type: S4 dimensions: 2 dimensions: 2 }
      literal { shape { element_type: S4 dimensions: 2 dimensions: 2 layout { minor_to_major: 0 minor_to_major: 1 } }
                s4s: "\x2f\x83" }
    }
  }
})";

TEST(ModuleFile, ProtobufTextWithOldPaddingAndPackedColumns) {
  const std::shared_ptr<Module> module = Parsed(ReadBytes("m.pbtxt", kProtoText));
  ASSERT_NE(module, nullptr);
  const Instruction* parameter = module->entry()->parameter(0);
  EXPECT_EQ(parameter->name(), "x_y");
  EXPECT_EQ(ToString(parameter->shape(), {.layouts = true}), "u8[2,3]{0,1:T(5,3)}");
  // Columns (-1, 2) and (3, -8), the first element in the low-order bits.
  EXPECT_EQ(ToString(*module->entry()->root()->Get<attr::literal>()), "{ { -1, 3 }, { 2, -8 } }");
}

TEST(ModuleFile, AComparisonNeedsNoOrder) {
  const std::shared_ptr<Module> module = Parsed(ReadBytes("m.pbtxt", R"(hlo_module {
    name: "m" entry_computation_name: "e" entry_computation_id: 7
    computations {
      name: "e" id: 7 root_id: 2
      instructions { name: "x" opcode: "parameter" id: 1 shape { element_type: S32 layout {} } }
      instructions { name: "c" opcode: "compare" id: 2 shape { element_type: PRED layout {} }
                     operand_ids: 1 operand_ids: 1 comparison_direction: "LT" comparison_type: "SIGNED" }
    }
  })"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kCompare);
  EXPECT_EQ(module->entry()->root()->Get<attr::direction>(), ComparisonDirection::kLt);
}

TEST(ModuleFile, UnoptimizedSnapshotsAreRecognisedByTheirText) {
  const std::string text = std::string(kProtoText) +
                           "partitions { arguments { shape { element_type: U8 dimensions: 2 dimensions: 3 } "
                           "u8s: \"\\001\\002\\003\\004\\005\\006\" } }";
  const absl::StatusOr<ModuleFile> file = ReadBytes("m.hlo_unoptimized_snapshot.txt", text);
  ASSERT_NE(Parsed(file), nullptr);
  ASSERT_TRUE(file->arguments);
  EXPECT_EQ(ToString(file->arguments->at(0)), "{ { 1, 2, 3 }, { 4, 5, 6 } }");
  // A computation with the message's name is HLO text.
  const absl::StatusOr<ModuleFile> computation =
      ReadBytes("m.txt", "hlo_module { a = f32[] parameter(0) }\nENTRY e { ROOT b = f32[] constant(1) }");
  ASSERT_NE(Parsed(computation), nullptr);
}

std::string Refusal(const std::string& name, const std::string& bytes) {
  const absl::StatusOr<ModuleFile> file = ReadBytes(name, bytes);
  return file.ok() ? "" : ErrorOf(file);
}

std::string Replaced(const std::string& what, const std::string& by) {
  std::string text = kProtoText;
  text.replace(text.find(what), what.size(), by);
  return Refusal("m.pbtxt", text);
}

TEST(ModuleFile, ErrorsNameTheProblem) {
  EXPECT_EQ(Refusal("m.pb", "no message"),
            "m.pb: is neither an HloModuleProto, nor an HloProto, nor an HloSnapshot: the message is damaged "
            "or cut "
            "off at byte 0 of 10");
  EXPECT_EQ(Refusal("m.pbtxt", "hlo_module {"),
            "m.pbtxt: is neither an HloModuleProto, nor an HloProto, nor an HloSnapshot; first error: 1:13: "
            "Expected "
            "identifier, got: ");
  EXPECT_EQ(Replaced("\"constant\"", "\"constnt\""),
            "m.pbtxt: 'n' has the opcode 'constnt', which is unknown");
  EXPECT_EQ(Replaced("s4s: \"\\x2f\\x83\"", "s4s: \"\\x2f\""),
            "m.pbtxt: a literal of s4[2,2] must have 4 elements of its type, but has another number");
  EXPECT_EQ(Replaced("minor_to_major: 0 minor_to_major: 1", "minor_to_major: 1 minor_to_major: 1"),
            "m.pbtxt: a layout orders the dimensions {1,1}, but the rank is 2");
  EXPECT_EQ(Replaced("id: 2 shape", "id: 2 control_predecessor_ids: 5 shape"),
            "m.pbtxt: 'n' refers to instruction 5, which its computation lacks");
  EXPECT_EQ(Replaced("element_type: U8", "element_type: 99"),
            "m.pbtxt: a shape has element type number 99, which is unknown");
}

}  // namespace
}  // namespace hlo::module_file_test
