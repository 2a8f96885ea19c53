#include "io/foreign.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace hlo::io {
namespace {

struct Signature {
  std::string_view begin;
  std::string_view kind;
};

using namespace std::string_view_literals;

constexpr std::string_view kGiveAsInput = "; arrays go to --input";

constexpr Signature kBinary[] = {
    {"\x7f"
     "ELF"sv,
     "an ELF file (compiled code)"},
    {"\x93NUMPY"sv, "an array of NumPy (.npy)"},
    {"PK\x03\x04"sv, "a zip archive, as .npz files are"},
    {"ML\xefR"sv, "MLIR bytecode; in JAX, jax.jit(f).lower(*args).as_text(dialect=\"hlo\") gives HLO"},
    {"BC\xc0\xde"sv, "LLVM bitcode"},
    {"\x89HDF"sv, "an HDF5 file"},
    {"\x89PNG"sv, "a PNG picture"},
    {"%PDF"sv, "a PDF document"},
    {"BZh"sv, "compressed by bzip2; decompress it first, or use gzip or zstd"},
    {"\xfd"
     "7zXZ"sv,
     "compressed by xz; decompress it first, or use gzip or zstd"},
    {"\x04\x22\x4d\x18"sv, "compressed by lz4; decompress it first, or use gzip or zstd"},
    {"\xff\xfe"sv, "text in UTF-16; convert it to UTF-8"},
    {"\xfe\xff"sv, "text in UTF-16; convert it to UTF-8"},
    {"\x80\x04\x95"sv, "a Python pickle"},
    {"\xcf\xfa\xed\xfe"sv, "a Mach-O file (compiled code)"},
    {"MZ\x90"sv, "a Windows program"},
};

// The first words of text files, after white space.
constexpr Signature kText[] = {
    {"BufferAssignment:", "a buffer assignment, which XLA dumps beside a module"},
    {"HloLiveRange", "a list of live ranges, which XLA dumps beside a module"},
    {"Memory Space:", "a report of memory use, which XLA dumps beside a module"},
    {"; ModuleID", "LLVM IR, which XLA dumps beside a module"},
    {"target datalayout", "LLVM IR, which XLA dumps beside a module"},
    {"digraph", "a graph for Graphviz"},
    {"<!DOCTYPE", "HTML"},
    {"<html", "HTML"},
    {"<svg", "an SVG picture"},
    {"<?xml", "XML"},
    {"{\"", "JSON"},
    {"{ lambda", "a jaxpr; jax.jit(f).lower(*args).as_text(dialect=\"hlo\") gives HLO"},
    {"{ \x1b[", "a jaxpr; jax.jit(f).lower(*args).as_text(dialect=\"hlo\") gives HLO"},
    {"import ", "Python source"},
    {"from ", "Python source"},
    {"def ", "Python source"},
    {".version ", "PTX (compiled code), which XLA dumps beside a module"},
    {"#!", "a script"},
    {"```", "Markdown; take the text between the lines ```"},
    {"'HloModule", "a Python string in quotes; write the string itself"},
    {"\"HloModule", "a string in quotes; write the string itself"},
};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// True if the text starts with a word of MLIR and soon names an operation of its dialects.
bool IsMlir(std::string_view text, std::string_view head) {
  constexpr std::string_view kBegins[] = {
      "module",     "func.func", "builtin.module", "#loc", "\"builtin.module\"", "!", "#map",
      "stablehlo.", "#sdy",      "sdy.",           "vhlo."};
  const bool begins =
      std::any_of(std::begin(kBegins), std::end(kBegins), [&](auto word) { return text.starts_with(word); });
  constexpr std::string_view kOperations[] = {"func.func", "stablehlo.", "mhlo.",  "builtin.module", "vhlo.",
                                              "module @",  "llvm.func",  "scf.",   "linalg.",        "arith.",
                                              "chlo.",     "sdy.",       "tensor<"};
  return begins && std::any_of(std::begin(kOperations), std::end(kOperations),
                               [&](auto word) { return Contains(head, word); });
}

// True if the line has the prefix of absl's and glog's logs: I1128 12:00:00.123456 1234 hlo.cc:77] HloModule
// m.
bool IsLogLine(std::string_view line) {
  const size_t bracket = line.find("] ");
  return line.size() > 6 && std::string_view("IWEF").find(line[0]) != std::string_view::npos &&
         std::all_of(line.begin() + 1, line.begin() + 5,
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) &&
         line[5] == ' ' && bracket != std::string_view::npos && Contains(line.substr(0, bracket), ":");
}

std::string_view WithoutBlanksAndLineComments(std::string_view text) {
  for (;;) {
    while (!text.empty() && absl::ascii_isspace(static_cast<unsigned char>(text.front())))
      text.remove_prefix(1);
    if (!text.starts_with("//")) return text;
    const size_t line_end = text.find('\n');
    if (line_end == std::string_view::npos) return {};
    text.remove_prefix(line_end);
  }
}

}  // namespace

std::optional<std::string> ForeignContent(std::string_view bytes) {
  for (const Signature& signature : kBinary) {
    if (!bytes.starts_with(signature.begin)) continue;
    const bool is_arrays = signature.begin[0] == '\x93' || signature.begin.starts_with("PK");
    return std::string(signature.kind) + std::string(is_arrays ? kGiveAsInput : "");
  }
  // A safetensors file starts with an 8-byte length and a JSON object.
  if (bytes.size() > 9 && bytes.substr(5, 5) == "\0\0\0{\""sv)
    return "a safetensors file; arrays go to --input";
  constexpr size_t kHead = 16384;
  const std::string_view head = bytes.substr(0, kHead);
  const std::string_view text = WithoutBlanksAndLineComments(head);
  if (IsMlir(text, head)) {
    const bool is_stablehlo =
        Contains(head, "stablehlo.") || Contains(head, "mhlo.") || Contains(head, "jax.");
    return fmt::format("{}, not HLO; in JAX, jax.jit(f).lower(*args).as_text(dialect=\"hlo\") gives HLO",
                       is_stablehlo ? "StableHLO (MLIR text)" : "MLIR text");
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  if (IsLogLine(line)) return "a log; remove the prefix of each line: sed 's/^[^]]*] //'";
  if (line.starts_with("xla_") && Contains(line, ": ") && !Contains(line, "{"))
    return "a list of XLA's debug options, which XLA dumps beside a module";
  for (const Signature& signature : kText) {
    if (text.starts_with(signature.begin)) return std::string(signature.kind);
  }
  return std::nullopt;
}

}  // namespace hlo::io
