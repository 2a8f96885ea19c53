#pragma once
// Fixtures of tests with one body for the CPU and for the emulated GPU:
//   template <class Fixture>
//   struct SortTest : Fixture {};
//   TYPED_TEST_SUITE(SortTest, test::Fixtures, test::FixtureNames);
//   TYPED_TEST(SortTest, ByOneKey) { this->ExpectAgrees(text, "sort"); }

#include <string>
#include <string_view>
#include <type_traits>

#include "cuda_kernels.h"
#include "engines.h"
#include "gtest/gtest.h"

namespace hlo::test {

// Compares the fast engine with the reference.
struct OnCpu : testing::Test {
  static constexpr bool kIsEmulated = false;
  static void ExpectAgrees(const std::string& text, std::string_view /*kernel*/,
                           const Agreement& agreement = {}) {
    ExpectEnginesAgree(text, agreement);
  }
};

// Compares the emulated kernel of the entry's root with the reference; the kernel's name starts with
// `kernel`.
struct OnEmulatedGpu : testing::Test {
  static constexpr bool kIsEmulated = true;
  static void ExpectAgrees(const std::string& text, std::string_view kernel,
                           const Agreement& agreement = {}) {
    ExpectKernelAgrees(text, kernel, agreement, 1);
  }
};

using Fixtures = testing::Types<OnCpu, OnEmulatedGpu>;

struct FixtureNames {
  template <class Fixture>
  static std::string GetName(int /*index*/) {
    return std::is_same_v<Fixture, OnCpu> ? "Cpu" : "EmulatedGpu";
  }
};

}  // namespace hlo::test
