# HLO_ISA_LEVELS: the instruction sets that LEVELED libraries of portable programs for x86-64 (HLO_RUN_NATIVE=OFF) are
# compiled for; empty for other programs. When a program starts, it selects the best level that the processor supports
# (src/base/isa_select.cc). isa_levels.sh joins the objects of a level into one and renames its symbols.
set(HLO_ISA_LEVELS)
if(NOT HLO_RUN_NATIVE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT HLO_RUN_SANITIZE AND NOT HLO_RUN_FUZZ)
  # The best one first.
  set(HLO_ISA_LEVELS x86-64-v4-bf16 x86-64-v4 x86-64-v3 x86-64-v2)
endif()
set(HLO_ISA_OPTIONS_x86-64-v2 -march=x86-64-v2)
set(HLO_ISA_OPTIONS_x86-64-v3 -march=x86-64-v3)
set(HLO_ISA_OPTIONS_x86-64-v4 -march=x86-64-v4 -mprefer-vector-width=512)
# The extensions for products of bytes and of bf16.
set(HLO_ISA_OPTIONS_x86-64-v4-bf16 ${HLO_ISA_OPTIONS_x86-64-v4} -mavx512vnni -mavx512bf16)

# Adds a library hlo_NAME whose sources are compiled for each level, by targets hlo_NAME_LEVEL. Programs link it through
# hlo_isa_levels. DEPS and LIBS are targets.
function(hlo_leveled_library NAME SOURCES DEPS LIBS)
  # hlo_NAME_headers has only the include folders, which the sources of other leveled libraries need.
  add_library(hlo_${NAME}_headers INTERFACE)
  target_include_directories(hlo_${NAME}_headers INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  foreach(dep ${DEPS})
    if(TARGET ${dep}_headers)
      set(dep ${dep}_headers)
    endif()
    target_link_libraries(hlo_${NAME}_headers INTERFACE ${dep})
  endforeach()
  target_link_libraries(hlo_${NAME}_headers INTERFACE ${LIBS})
  foreach(level ${HLO_ISA_LEVELS})
    set(target hlo_${NAME}_${level})
    add_library(${target} OBJECT ${SOURCES})
    target_link_libraries(${target} PRIVATE hlo_${NAME}_headers)
    # Variables that inlined functions and templates share among levels must be weak, not unique.
    target_compile_options(${target} PRIVATE ${HLO_ISA_OPTIONS_${level}} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  endforeach()
  add_library(hlo_${NAME} INTERFACE)
  target_link_libraries(hlo_${NAME} INTERFACE hlo_${NAME}_headers hlo_isa_levels)
  set_property(GLOBAL APPEND PROPERTY HLO_LEVELED_LIBRARIES ${NAME})
endfunction()

# Adds hlo_isa_levels, after all leveled libraries: the joined objects of each level, and functions with their names that
# jump to those of the selected level.
function(hlo_join_levels)
  get_property(libraries GLOBAL PROPERTY HLO_LEVELED_LIBRARIES)
  set(folder ${CMAKE_BINARY_DIR}/levels)
  set(arguments)
  set(objects)
  set(outputs ${folder}/dispatch.o)
  foreach(level ${HLO_ISA_LEVELS})
    # Defines the extensions that the level's code may use.
    add_library(hlo_features_${level} OBJECT ${PROJECT_SOURCE_DIR}/src/base/compiled_features.cc)
    target_include_directories(hlo_features_${level} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(hlo_features_${level} PRIVATE ${HLO_ISA_OPTIONS_${level}})
    set(level_objects $<TARGET_OBJECTS:hlo_features_${level}>)
    foreach(library ${libraries})
      list(APPEND level_objects $<TARGET_OBJECTS:hlo_${library}_${level}>)
    endforeach()
    file(GENERATE OUTPUT ${folder}/${level}.objects CONTENT "$<JOIN:${level_objects},\n>\n")
    list(APPEND objects ${level_objects})
    list(APPEND outputs ${folder}/${level}.o)
  endforeach()
  set(script ${PROJECT_SOURCE_DIR}/tools/cmake/isa_levels.sh)
  find_program(HLO_LD_BFD NAMES ld.bfd ld REQUIRED)
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} LD=${HLO_LD_BFD} OBJCOPY=${CMAKE_OBJCOPY} OBJDUMP=${CMAKE_OBJDUMP}
      bash ${script} ${folder} ${HLO_ISA_LEVELS}
    DEPENDS ${objects} ${script} COMMENT "Joining the kernels of ${HLO_ISA_LEVELS}" COMMAND_EXPAND_LISTS VERBATIM)
  add_library(hlo_isa_levels STATIC ${outputs})
  set_target_properties(hlo_isa_levels PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(hlo_isa_levels PUBLIC ${ARGN})
  target_compile_definitions(hlo_isa_levels INTERFACE HLO_ISA_LEVELED)
  # Programs that call no kernel also contain the levels.
  target_link_options(hlo_isa_levels INTERFACE LINKER:--undefined=hlo_isa_levels)
endfunction()
