# Debian has Abseil's libraries both ways, and its packages name the shared ones: some thirty files to open and relocate
# before main. Where the archive lies beside, it is linked instead.
get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target ${targets})
  get_target_property(type ${target} TYPE)
  if(NOT target MATCHES "^absl::" OR NOT type STREQUAL "SHARED_LIBRARY")
    continue()
  endif()
  get_target_property(shared ${target} IMPORTED_LOCATION_NONE)
  string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
  if(EXISTS "${archive}")
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${archive}" IMPORTED_SONAME_NONE "")
  endif()
endforeach()
