#pragma once
// Programs of reduce-window, with windows of few and of many elements.

#include <string>

#include "fmt/format.h"

namespace hlo::test {

struct WindowCase {
  const char *base, *result, *window;
};
// Windows of few elements, folded directly in the reference's order.
inline constexpr WindowCase kFew[] = {
    {"17", "15", "size=3"},
    {"2,9,11,5", "2,4,5,5", "size=1x3x3x1 stride=1x2x2x1"},
    {"2,5,9,11", "2,5,9,11", "size=1x1x3x3 pad=0_0x0_0x1_1x1_1"},
    {"12,13", "5,25", "size=2x3 stride=2x1 pad=0_-1x1_1 lhs_dilate=1x2"},
    {"30,40", "8,38", "size=3x2 stride=3x1 rhs_dilate=4x2"},
    {"7,6", "17,3", "size=2x2 stride=1x3 pad=2_3x1_2 lhs_dilate=2x1"},
    {"9,4", "5,1", "size=3x3 stride=3x2 pad=0_0x0_0 lhs_dilate=2x1"},
    {"5,3", "5,3", "size=1x1"},
    {"3", "9", "size=2 pad=4_3"},
    {"1300", "1298", "size=3"},
    // Elements of the last and of another dimension come last.
    {"6,9", "6,9", "size=3x2 pad=1_1x0_1"},
    {"4,6,7", "4,6,3", "size=2x2x3 stride=1x1x2 pad=0_1x0_1x0_0"},
};
// Windows of many elements, computed as sliding windows.
inline constexpr WindowCase kMany[] = {
    {"100", "100", "size=100 pad=99_0"},
    {"3,70,5", "3,70,5", "size=1x70x1 pad=0_0x69_0x0_0"},
    {"70,67", "70,67", "size=70x1 pad=0_69x0_0"},
    {"150,3", "118,3", "size=33x1"},
    {"60,70", "25,31", "size=12x9 stride=2x2 pad=0_0x0_0"},
    {"60,70", "59,69", "size=10x8 pad=4_4x3_3"},
    {"300", "50", "size=57 stride=5 pad=2_0"},
};
// Windows that are the prefixes of lines, computed as scans.
inline constexpr WindowCase kPrefixes[] = {
    {"100", "100", "size=100 pad=99_0"},        {"3,70,5", "3,70,5", "size=1x70x1 pad=0_0x69_0x0_0"},
    {"300,7", "300,7", "size=1x9 pad=0_0x8_0"}, {"2,5,301", "2,5,301", "size=1x5x1 pad=0_0x4_0x0_0"},
    {"3,1", "3,1", "size=1x2 pad=0_0x1_0"},     {"600", "600", "size=70000 pad=69999_0"},
};
// Long lines and columns, which are split across threads.
inline constexpr WindowCase kSplit[] = {
    {"70000", "7", "size=70000 stride=10000 pad=69999_0"},
    {"70000", "7", "size=70000 stride=10000 pad=0_69999"},
    {"2,70001", "2,8", "size=1x70001 stride=1x17000 pad=0_0x65000_60000"},
    {"12000", "11999", "size=40 pad=20_18"},
    {"3,9000", "3,4498", "size=1x11 stride=1x2 pad=0_0x3_3"},
    {"6000,3", "6000,3", "size=34x1 pad=33_0x0_0"},
    {"2,900,2,5", "2,433,2,5", "size=1x35x1x1 stride=1x2x1x1"},
};

inline std::string ReduceWindow(const char* type, const char* opcode, const WindowCase& c) {
  return fmt::format(
      "c {{ x = {0}[] parameter(0)\n y = {0}[] parameter(1)\n ROOT r = {0}[] {1}(x, y) }}\n"
      "ENTRY e {{ a = {0}[{2}] parameter(0)\n i = {0}[] parameter(1)\n"
      " ROOT r = {0}[{3}] reduce-window(a, i), window={{{4}}}, to_apply=c }}",
      type, opcode, c.base, c.result, c.window);
}

}  // namespace hlo::test
