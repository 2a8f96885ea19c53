// Tests module files and dump folders.

#include <zlib.h>
#include <zstd.h>

#include <vector>

#include "cli_fixture.h"
#include "nlohmann/json.hpp"

namespace hlo::cli_test {
namespace {

using nlohmann::json;

constexpr char kNegate[] =
    "HloModule n\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT r = f32[2] negate(a)\n}\n";

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::vector<json> Lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST_F(Cli, CompressedModulesAreRead) {
  const std::string snapshot = ReadFile("tests/unit/io/data/snapshot.pb");
  for (const auto& [name, bytes] :
       std::map<std::string, std::string>{{"m.txt.gz", Gzip(kNegate)},
                                          {"m.hlo.zst", Zstd(kNegate)},
                                          {"two.gz", Gzip("HloModule n\n") + Gzip(kNegate + 12)},
                                          {"two.zst", Zstd("HloModule n\n") + Zstd(kNegate + 12)}}) {
    const Outcome run = Run(Write(name, bytes) + " --input 'f32[2]{1,2}'");
    EXPECT_EQ(run.status, 0) << name << run.err;
    EXPECT_EQ(run.out, "f32[2] {-1, -2}\n") << name;
  }
  EXPECT_EQ(Run("check " + Write("s.pb.gz", Gzip(snapshot))).status, 0);
  const Outcome piped = Run("- < " + Write("s.pb.zst", Zstd(snapshot)));
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_EQ(piped.out, Run("tests/unit/io/data/snapshot.pb").out);
  // Locations refer to the uncompressed text.
  const Outcome wrong =
      Run("verify " + Write("w.hlo.gz", Gzip("HloModule n\nENTRY e {\n  ROOT r = f32[] sinn()\n}\n")));
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "w.hlo.gz:3:18: error: unknown opcode 'sinn'");
}

TEST_F(Cli, DamagedAndEndlessCompressionIsAnErrorWithItsPlace) {
  std::string gz = Gzip(kNegate), zst = Zstd(kNegate);
  const Outcome cut = Run("verify " + Write("cut.hlo.gz", gz.substr(0, gz.size() - 20)));
  EXPECT_EQ(cut.status, 2);
  EXPECT_HAS(cut.err, "cut.hlo.gz: the gzip data end too early, at byte " + std::to_string(gz.size() - 20));
  const Outcome short_zst = Run("verify " + Write("cut.hlo.zst", zst.substr(0, zst.size() - 5)));
  EXPECT_EQ(short_zst.status, 2);
  EXPECT_HAS(short_zst.err,
             "cut.hlo.zst: the zstd data end too early, at byte " + std::to_string(zst.size() - 5));
  gz[gz.size() - 8] ^= 1;
  const Outcome damaged = Run("verify " + Write("bad.hlo.gz", gz));
  EXPECT_EQ(damaged.status, 2);
  EXPECT_HAS(damaged.err, "bad.hlo.gz: the gzip data are damaged at byte ");
  EXPECT_HAS(damaged.err, "incorrect data check");
  zst[6] ^= 0x55;
  const Outcome bad_zst = Run("verify " + Write("bad.hlo.zst", zst));
  EXPECT_EQ(bad_zst.status, 2);
  EXPECT_HAS(bad_zst.err, "bad.hlo.zst: the zstd data are damaged at byte ");
  const std::string blanks(size_t{64} << 20, ' ');
  for (const std::string& bomb : {Write("bomb.hlo.zst", Zstd(blanks)), Write("bomb.hlo.gz", Gzip(blanks))}) {
    const Outcome run = Run("verify --max-memory=1MB " + bomb);
    EXPECT_EQ(run.status, 4) << run.err;
    EXPECT_HAS(run.err, "takes more than 1048576 bytes when it is decompressed, the limit");
  }
}

TEST_F(Cli, BrokenMessagesAreLocated) {
  const std::string snapshot = ReadFile("tests/unit/io/data/snapshot.pb");
  const Outcome cut = Run("verify " + Write("cut.pb", snapshot.substr(0, snapshot.size() / 2)));
  EXPECT_EQ(cut.status, 2);
  EXPECT_HAS(cut.err,
             "cut.pb: is neither an HloModuleProto, nor an HloProto, nor an HloSnapshot: the message is ");
  EXPECT_HAS(cut.err, "damaged or cut off at byte ");
  EXPECT_HAS(cut.err, " of " + std::to_string(snapshot.size() / 2));
}

// A folder as --xla_dump_to writes it.
class Dump : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    fs::create_directories(folder_ / "d/module_0001.jit_f");
    Write("d/module_0001.jit_f.before_optimizations.txt", kNegate);
    Write("d/module_0001.jit_f.0003.fusion.after_dce.before_cse.txt", kNegate);
    Write("d/module_0001.jit_f.cpu_after_optimizations.txt", kNegate);
    Write("d/module_0001.jit_f.cpu_after_optimizations.hlo.pb.gz",
          Gzip(ReadFile("tests/unit/io/data/snapshot.pb")));
    Write("d/1795410351277807.module_0012.jit_g.h.before_optimizations.txt", kNegate);
    Write("d/module_0012.jit_g.h.snapshot.4.pb", ReadFile("tests/unit/io/data/snapshot.pb"));
    Write("d/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt",
          "BufferAssignment:\nallocation 0: size 256\n");
    Write("d/module_0001.jit_f.cpu_after_optimizations-memory-usage-report.txt",
          "Memory Space: default (color=0)\n");
    Write("d/module_0001.jit_f.cpu_after_optimizations-live-range.txt", "HloLiveRange (max 30):\n");
    Write("d/module_0001.jit_f.debug_options", "xla_cpu_enable_fast_math: false\n");
    Write("d/module_0001.jit_f/compile_options.pb", "\x0a\x01\x02");
    Write("d/module_0001.jit_f/topology.pb", "\x0a\x01\x02");
    Write("d/module_0001.jit_f/module.mlir", "module @jit_f {\n  func.func public @main() {\n  }\n}\n");
    Write("d/module_0001.jit_f.thunk_sequence.txt", "001: kKernel\n");
    Write("d/module_0001.jit_f.ir-no-opt.ll", "; ModuleID = '__compute_module'\n");
    Write("d/notes.txt", "Not a module.\n");
  }
};

TEST_F(Dump, AFolderOfADumpIsReadAndSideFilesAreCounted) {
  for (const char* command : {"verify", "print", "stats", "plan", "run --random=1"}) {
    const Outcome all = Run(std::string(command) + " " + Path("d"));
    EXPECT_EQ(all.status, 0) << command << all.out << all.err;
    EXPECT_EQ(Lines(all.out).size(), 6u) << command;
    EXPECT_EQ(all.err,
              "hlo-run: note: skipped 10 files below '" + Path("d") +
                  "' beside the modules: 1 LLVM IR, 1 MLIR, 1 buffer assignments, 1 compile options, 1 debug "
                  "options, 1 live ranges, 1 memory reports, 1 other files, 1 thunks, 1 topologies\n");
  }
  const Outcome check = Run("check " + Path("d"));
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_HAS(check.out, "1 case: 1 passed") << "the snapshot";
}

TEST_F(Dump, PassAndModuleChooseFiles) {
  const auto files = [&](const std::string& flags) {
    std::vector<std::string> names;
    for (const json& line : Lines(Run("verify --format=json " + Path("d") + " " + flags).out))
      names.push_back(fs::path(line["file"].get<std::string>()).filename().string());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(files("--pass 'fusion'"), Names{"module_0001.jit_f.0003.fusion.after_dce.before_cse.txt"});
  EXPECT_EQ(files("--pass '^before_opt' --module '^module_0001'"),
            Names{"module_0001.jit_f.before_optimizations.txt"});
  EXPECT_EQ(files("--module 'jit_g.h$'"),
            (Names{"1795410351277807.module_0012.jit_g.h.before_optimizations.txt",
                   "module_0012.jit_g.h.snapshot.4.pb"}));
  EXPECT_EQ(files("--pass snapshot"), Names{"module_0012.jit_g.h.snapshot.4.pb"});
  const Outcome none = Run("verify " + Path("d") + " --pass nothing");
  EXPECT_EQ(none.status, 2);
  EXPECT_HAS(none.err, "hlo-run: error: none of the 6 modules matches --pass 'nothing'\n");
  const Outcome wrong = Run("verify " + Path("d") + " --module '('");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_HAS(wrong.err, "hlo-run: error: --module: '(' is not a regular expression\n");
}

TEST_F(Dump, NamedSideFilesAreIdentifiedInTheError) {
  const auto error = [&](const std::string& name) {
    const Outcome run = Run("verify " + Path("d/" + name));
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  EXPECT_HAS(error("module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"),
             "is not an HLO module: it is a buffer assignment, which XLA dumps beside a module");
  EXPECT_HAS(error("module_0001.jit_f/compile_options.pb"),
             "is not an HLO module: it is of the compile options that XLA dumps beside modules");
  EXPECT_HAS(error("module_0001.jit_f.debug_options"), "a list of XLA's debug options");
}

TEST_F(Cli, DelimitedSnapshotsContainTheirArguments) {
  const auto result = [&](const std::string& name) {
    const Outcome run = Run("tests/unit/io/data/" + name + ".hlo_unoptimized_snapshot.pb");
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  };
  EXPECT_EQ(result("bits"), "pred[10] {1, 0, 1, 1, 0, 0, 1, 0, 1, 1}\n");
  EXPECT_EQ(result("types"),
            "( c64[6] {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)}, bf16[6] {0, 1, 2, 3, 4, 5} )\n");
  EXPECT_EQ(result("columns"), "f32[2,3] { { 0, 2, 4 }, { 6, 8, 10 } }\n");
  std::string bytes = ReadFile("tests/unit/io/data/types.hlo_unoptimized_snapshot.pb");
  const Outcome piped = Run("- < tests/unit/io/data/types.hlo_unoptimized_snapshot.pb");
  EXPECT_EQ(piped.out, result("types")) << piped.err;
  bytes.resize(bytes.size() - 4);
  const Outcome cut = Run(Write("cut.hlo_unoptimized_snapshot.pb", bytes));
  EXPECT_EQ(cut.status, 2);
  EXPECT_HAS(cut.err, "ends too early: argument 1 has 35 of its 39 bytes");
}

TEST_F(Cli, DashesSeparateTheModulesOfAFile) {
  const std::string file =
      Write("two.hlo", std::string("// one\n") + kNegate + "// -----\n// two\n" + kNegate +
                           "// -----\n\n// -----\nHloModule w\nENTRY e {\n  ROOT r = f32[] sinn()\n}\n");
  const Outcome run = Run(file + " --input 'f32[2]{1,2}'");
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "f32[2] {-1, -2}\nf32[2] {-1, -2}\n");
  EXPECT_HAS(run.err, "two.hlo:19:18: error: unknown opcode 'sinn'");
  const std::vector<json> lines = Lines(Run("verify --format=json " + file).out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["part"], 2);
  EXPECT_EQ(lines[1]["status"], "ok");
  EXPECT_EQ(lines[2]["errors"][0]["line"], 19);
  // The printed text reads back as the same modules.
  const Outcome print = Run("print " + Write("pair.hlo", std::string(kNegate) + "// -----\n" + kNegate));
  EXPECT_EQ(print.status, 0) << print.err;
  EXPECT_EQ(Run("print " + Write("again.hlo", print.out)).out, print.out);
  EXPECT_EQ(Run(Write("pair.hlo", std::string(kNegate) + "// -----\n" + kNegate) + " --random 1 -o " +
                Path("") + "/")
                .status,
            0);
  EXPECT_TRUE(fs::exists(Path("pair#1.npz")) && fs::exists(Path("pair#2.npz")));
}

TEST_F(Cli, ForeignFilesAreIdentifiedInTheError) {
  const auto error = [&](const std::string& name, const std::string& bytes) {
    const Outcome run = Run("verify " + Write(name, bytes));
    EXPECT_EQ(run.status, 2) << name;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  const std::string mlir =
      "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n  func.func public @main(%arg0: "
      "tensor<2xf32>) {\n"
      "    %0 = stablehlo.negate %arg0 : tensor<2xf32>\n  }\n}\n";
  EXPECT_HAS(error("f.mlir", mlir),
             "f.mlir: is not an HLO module: it is StableHLO (MLIR text), not HLO; in JAX, "
             "jax.jit(f).lower(*args).as_text(dialect=\"hlo\") gives HLO\n");
  EXPECT_HAS(error("f.hlo", "#loc = loc(unknown)\n" + mlir), "it is StableHLO (MLIR text)");
  EXPECT_HAS(error("g.hlo", "module {\n  llvm.func @f()\n}\n"), "it is MLIR text, not HLO");
  EXPECT_HAS(error("h.hlo", "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }\n"), "it is a jaxpr");
  EXPECT_HAS(error("i.md", "```\nHloModule m\n```\n"), "it is Markdown; take the text between the lines");
  EXPECT_HAS(error("i.txt", "'HloModule m\\nENTRY e'"), "it is a Python string in quotes");
  EXPECT_HAS(error("i.log", "I1128 12:00:00.123456 1234 hlo.cc:77] HloModule m\n"), "it is a log; remove");
  EXPECT_HAS(error("x.hlo", ReadFile("tests/unit/io/data/f32.npy")),
             "it is an array of NumPy (.npy); arrays go to --input");
  EXPECT_HAS(error("x.npz", ReadFile("tests/unit/io/data/args.npz")),
             "it is a zip archive, as .npz files are; arrays");
  EXPECT_HAS(error("w", ReadFile("tests/unit/io/data/weights.safetensors")), "it is a safetensors file");
  EXPECT_HAS(error("a.out", ReadFile(HLO_RUN_BINARY).substr(0, 4096)), "it is an ELF file (compiled code)");
  EXPECT_HAS(error("m.txt.gz.xz",
                   "\xfd"
                   "7zXZ"),
             "it is compressed by xz; decompress it first, or use gzip or zstd");
  EXPECT_HAS(error("u.hlo", std::string("\xff\xfeH\0l\0", 6)), "it is text in UTF-16; convert it to UTF-8");
  EXPECT_HAS(error("p.hlo", "import jax\n"), "it is Python source");
  EXPECT_HAS(error("z.hlo.gz", Gzip(mlir)), "z.hlo.gz: is not an HLO module: it is StableHLO (MLIR text)");
}

TEST_F(Cli, AByteOrderMarkIsSkipped) {
  const Outcome run =
      Run("verify " +
          Write("bom.hlo", std::string("\xef\xbb\xbf") + "HloModule m\nENTRY e { ROOT r = f32[] sinn() }\n"));
  EXPECT_HAS(run.err, "bom.hlo:2:26: error: unknown opcode 'sinn'");
  EXPECT_EQ(Run("verify " + Write("good.hlo", std::string("\xef\xbb\xbf") + kNegate)).status, 0);
}

TEST_F(Cli, MessagesTranslateTypesOfOtherLanguages) {
  const Outcome run =
      Run("verify " + Write("m.hlo",
                            "HloModule m\n# a comment\nENTRY e {\n  a = float32[16] parameter(0)\n"
                            "  i = i32[] constant(1)\n  ROOT b = f32[16] negate(a)\n}\n"));
  EXPECT_EQ(run.status, 2);
  EXPECT_HAS(run.err, "comments are // or /* */");
  EXPECT_HAS(run.err, "unknown element type 'float32'; did you mean f32?");
  EXPECT_HAS(run.err, "unknown element type 'i32'; did you mean s32?");
  const Outcome root = Run(Write("r.hlo", "ENTRY e {\n  a = f32[] constant(1)\n  b = f32[] negate(a)\n}\n"));
  EXPECT_EQ(root.status, 0);
  EXPECT_EQ(root.out, "f32[] -1\n");
  EXPECT_HAS(root.err, "warning: no instruction of 'e' is marked ROOT: the last one is taken");
  const Outcome brace =
      Run("verify --format=json " +
          Write("b.hlo",
                "HloModule m\nadd {\n  x = f32[] parameter(0)\n  ROOT s = f32[] negate(x)\n\n"
                "ENTRY e {\n  a = f32[] parameter(0)\n  ROOT r = f32[] call(a), to_apply=add\n}\n"));
  EXPECT_EQ(Lines(brace.out)[0]["errors"].size(), 1u) << brace.out;
}

TEST_F(Cli, ErrorsInJsonHaveTheirPlace) {
  const auto errors = [&](const std::string& command, const std::string& text) {
    return Lines(Run(command + " --format=json " + Write("m.hlo", text)).out).at(0)["errors"];
  };
  const json parse = errors("verify", "HloModule m\nENTRY e {\n  ROOT %r.1 = f32[]\n    sinn()\n}\n");
  EXPECT_EQ(parse,
            json::parse(R"([{"message": "unknown opcode 'sinn'; did you mean 'sign'?", "line": 4, "column": 5,
                                    "rule": null, "instruction": "r.1"}])"));
  const json check = errors(
      "verify",
      "ENTRY e {\n  a = f32[2,3] parameter(0)\n  ROOT t = f32[2,3] transpose(a), dimensions={1,0}\n}\n");
  EXPECT_EQ(check[0]["line"], 3);
  EXPECT_EQ(check[0]["column"], 12);
  EXPECT_EQ(check[0]["instruction"], "t");
  EXPECT_FALSE(check[0]["rule"].is_null()) << check;
  EXPECT_HAS(check[0]["message"].get<std::string>(), "f32[3,2]");
  const json run = errors("run --random 1",
                          "HloModule m, num_partitions=2\nENTRY e {\n  a = f32[2] parameter(0)\n"
                          "  ROOT g = f32[8] all-gather(a), replica_groups={{0,1,2,3}}, dimensions={0}, "
                          "channel_id=1, use_global_device_ids=true\n}\n");
  ASSERT_EQ(run.size(), 1u) << run;
  EXPECT_EQ(run[0]["line"], 4);
  EXPECT_EQ(run[0]["instruction"], "g");
  const json missing = Lines(Run("verify --format=json nothing.hlo").out).at(0)["errors"];
  EXPECT_EQ(missing[0]["message"], "cannot read 'nothing.hlo': No such file or directory");
  EXPECT_TRUE(missing[0]["line"].is_null());
}

}  // namespace
}  // namespace hlo::cli_test
