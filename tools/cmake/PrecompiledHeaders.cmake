# What nearly every file includes is parsed once for all of them, which saves a third of a build. Files still include
# what they use.
set(HLO_PRECOMPILED
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <numeric> <optional> <random> <string> <string_view> <tuple> <type_traits> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/functional/function_ref.h> <absl/status/statusor.h> <absl/strings/numbers.h> <absl/strings/str_join.h>
  <absl/strings/str_split.h> <absl/types/span.h> <fmt/format.h>)

# A target that others may share such headers with: they must be compiled with the same options.
#   hlo_precompiled(NAME hlo_test_headers HEADERS <gtest/gtest.h> LIBS GTest::gtest)
function(hlo_precompiled)
  cmake_parse_arguments(ARG "" "NAME" "HEADERS;LIBS" ${ARGN})
  set(empty ${CMAKE_BINARY_DIR}/generated/${ARG_NAME}.cc)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "")
  endif()
  add_library(${ARG_NAME} OBJECT ${empty})
  target_link_libraries(${ARG_NAME} PRIVATE absl::statusor absl::strings absl::flat_hash_map absl::inlined_vector absl::span fmt::fmt ${ARG_LIBS})
  target_precompile_headers(${ARG_NAME} PRIVATE ${HLO_PRECOMPILED} ${ARG_HEADERS})
endfunction()

# GCC then inlines one instance of a template in the name of another, and warns of its bounds.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HLO_WARNINGS -Wno-array-bounds -Wno-stringop-overflow)
endif()

if(NOT HLO_RUN_UNITY)
  hlo_precompiled(NAME hlo_headers)
endif()
if(HLO_RUN_TESTS)
  hlo_precompiled(NAME hlo_test_headers HEADERS <gtest/gtest.h> LIBS GTest::gtest)
  set(HLO_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
  target_compile_options(hlo_test_headers PRIVATE ${HLO_TEST_OPTIONS})
  # Programs and libraries are position-independent by different options; the test programs use neither.
  set_target_properties(hlo_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()
