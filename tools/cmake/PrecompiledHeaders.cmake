# Headers that nearly every file includes are precompiled, which saves a third of the build time. Files still include the
# headers that they use.
set(HLO_PRECOMPILED
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <complex> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <numeric> <optional> <random> <string> <string_view> <tuple> <type_traits> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/functional/function_ref.h> <absl/status/statusor.h> <absl/strings/numbers.h> <absl/strings/str_join.h>
  <absl/strings/str_split.h> <absl/types/span.h> <fmt/format.h>)

# Unity builds compile few units, so rebuilding all of them after a change of a project header is acceptable.
set(HLO_PRECOMPILED_OF_PROJECT)
if(HLO_RUN_UNITY)
  set(HLO_PRECOMPILED_OF_PROJECT "<hlo_run/check.h>" "<base/status.h>")
endif()

# A target whose precompiled headers others reuse. They must be compiled with the same OPTIONS: GCC takes the level of
# optimisation from the headers, not from the options of the source.
#   hlo_precompiled(NAME hlo_test_headers HEADERS <gtest/gtest.h> LIBS GTest::gtest OPTIONS -O1)
function(hlo_precompiled)
  cmake_parse_arguments(ARG "" "NAME" "HEADERS;LIBS;OPTIONS" ${ARGN})
  set(empty ${CMAKE_BINARY_DIR}/generated/${ARG_NAME}.cc)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "")
  endif()
  add_library(${ARG_NAME} OBJECT ${empty})
  if(HLO_PRECOMPILED_OF_PROJECT)
    target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  endif()
  target_link_libraries(${ARG_NAME} PRIVATE absl::statusor absl::strings absl::flat_hash_map absl::inlined_vector absl::span fmt::fmt ${ARG_LIBS})
  target_compile_options(${ARG_NAME} PRIVATE ${ARG_OPTIONS})
  if(HLO_CCACHE_SLOPPINESS AND HLO_PRECOMPILED_OF_PROJECT)
    # GCC identifies a header within a precompiled one by its text including comments and blanks, which ccache does not hash.
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/hlo_run/* ${PROJECT_SOURCE_DIR}/src/base/*.h)
    list(JOIN headers ":" headers)
    set_target_properties(${ARG_NAME} PROPERTIES CXX_COMPILER_LAUNCHER
      "env;${HLO_CCACHE_SLOPPINESS};CCACHE_EXTRAFILES=${headers};${CCACHE}")
  endif()
  target_precompile_headers(${ARG_NAME} PRIVATE ${HLO_PRECOMPILED} ${HLO_PRECOMPILED_OF_PROJECT} ${ARG_HEADERS})
endfunction()

# GCC then inlines one instance of a template in the name of another, and warns of its bounds.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HLO_WARNINGS -Wno-array-bounds -Wno-stringop-overflow)
endif()

hlo_precompiled(NAME hlo_headers)
hlo_precompiled(NAME hlo_cold_headers OPTIONS ${HLO_COLD_OPTIONS})
if(HLO_RUN_TESTS)
  hlo_precompiled(NAME hlo_test_headers HEADERS <gtest/gtest.h> LIBS GTest::gtest OPTIONS ${HLO_COLD_OPTIONS})
  # Programs and libraries have different options for position-independent code; test programs use neither.
  set_target_properties(hlo_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()
