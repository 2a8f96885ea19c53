# libhlo_run: all layers but the command line's as one static and one shared library. Included after the layers.

# Collects the static libraries of this project that `target` needs, in link order.
function(hlo_static_closure target result)
  set(found ${${result}})
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    get_target_property(imported ${target} IMPORTED)
    if(type MATCHES "STATIC_LIBRARY|INTERFACE_LIBRARY" AND NOT imported AND NOT target IN_LIST found)
      set(property INTERFACE_LINK_LIBRARIES)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND found ${target})
        set(property LINK_LIBRARIES)
      endif()
      get_target_property(libraries ${target} ${property})
      foreach(library ${libraries})
        hlo_static_closure(${library} found)
      endforeach()
    endif()
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(members)
foreach(root conform observe build exec)
  hlo_static_closure(hlo_${root} members)
endforeach()

set(archive ${CMAKE_BINARY_DIR}/libhlo_run.a)
# Linkers do not read archives within archives, so ar unpacks them. Paths are relative because ar's scripts have no quotes.
set(script "create libhlo_run.a\n")
foreach(member ${members})
  get_target_property(folder ${member} BINARY_DIR)
  file(RELATIVE_PATH folder ${CMAKE_BINARY_DIR} ${folder})
  string(APPEND script "addlib ${folder}/$<TARGET_FILE_NAME:${member}>\n")
endforeach()
string(APPEND script "save\nend\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/libhlo_run.mri CONTENT "${script}")
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_COMMAND} -E rm -f libhlo_run.a
  COMMAND ${CMAKE_AR} -M < generated/libhlo_run.mri
  DEPENDS ${members} ${CMAKE_BINARY_DIR}/generated/libhlo_run.mri
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Joining the layers in libhlo_run.a" VERBATIM)
add_custom_target(hlo_run_archive DEPENDS ${archive})

# Programs may link Abseil too, and must share it with the library. Debian's static Abseil cannot be linked into a shared
# library, because its thread-local variables use the access model of programs.
find_library(HLO_RUN_PROTOBUF NAMES protobuf)
set(HLO_PUBLIC_LIBRARIES absl::status absl::statusor absl::strings absl::span absl::inlined_vector absl::flat_hash_map fmt::fmt)
set(HLO_STATIC_SYSTEM_LIBRARIES ${CMAKE_DL_LIBS})
if(LIBMVEC)
  list(APPEND HLO_STATIC_SYSTEM_LIBRARIES mvec)
endif()
set(private ${HLO_ABSL_SHARED} ${HLO_RUN_PROTOBUF} PkgConfig::LIBZIP PkgConfig::LIBZSTD ZLIB::ZLIB fmt::fmt OpenMP::OpenMP_CXX ${HLO_STATIC_SYSTEM_LIBRARIES})
if(NOT HLO_ABSL_SHARED)
  list(APPEND private ${HLO_PUBLIC_LIBRARIES})
endif()
if(HLO_RUN_HAS_CUDA)
  list(APPEND private CUDA::cudart_static)
endif()

set(HLO_LIBRARY_DEPENDENCIES ${private})

set(exports ${PROJECT_SOURCE_DIR}/tools/cmake/libhlo_run.map)
set(empty ${CMAKE_BINARY_DIR}/generated/libhlo_run.cc)
if(NOT EXISTS ${empty})
  file(WRITE ${empty} "")
endif()
add_library(hlo_run SHARED ${empty})
add_dependencies(hlo_run hlo_run_archive)
set_target_properties(hlo_run PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINKER_LANGUAGE CXX LINK_DEPENDS "${archive};${exports}")
target_link_options(hlo_run PRIVATE LINKER:--version-script=${exports} LINKER:--as-needed LINKER:--no-undefined)
target_link_libraries(hlo_run
  PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${archive}> ${private}
  INTERFACE $<BUILD_INTERFACE:${HLO_PUBLIC_LIBRARIES}> $<INSTALL_INTERFACE:${HLO_PUBLIC_LIBRARIES}>)
target_include_directories(hlo_run INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
