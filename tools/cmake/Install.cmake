# Defines what `cmake --install` installs. The component Program has the program, its man pages and completions; Development
# has the headers and libraries, the CMake package and pkg-config's files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The program generates man pages and completions, if it can run on the build machine.
if(NOT CMAKE_CROSSCOMPILING)
  set(share ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${share}/man/man1/hlo-run.1
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
    COMMAND hlo-run docs tree ${share}
    DEPENDS hlo-run COMMENT "Writing man pages and completions" VERBATIM)
  add_custom_target(hlo_docs ALL DEPENDS ${share}/man/man1/hlo-run.1)
  install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT Program)
  foreach(folder bash-completion fish)
    install(DIRECTORY ${share}/${folder} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT Program)
  endforeach()
  # Debian's zsh reads completions of packages from this folder.
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(folder vendor-completions)
    else()
      set(folder site-functions)
    endif()
    file(INSTALL ${share}/zsh/site-functions/_hlo-run
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}/zsh/\${folder}\")" COMPONENT Program)
endif()

if(HLO_RUN_LIBRARIES)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hlo_run TYPE INCLUDE COMPONENT Development)
  install(TARGETS hlo_run EXPORT hlo_run LIBRARY COMPONENT Development)
  install(FILES ${CMAKE_BINARY_DIR}/libhlo_run.a TYPE LIB COMPONENT Development)

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hlo_run)
  install(EXPORT hlo_run NAMESPACE hlo_run:: FILE hlo_run-targets.cmake DESTINATION ${package} COMPONENT Development)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/hlo_run-config.cmake.in
    ${CMAKE_BINARY_DIR}/generated/hlo_run-config.cmake INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR
    NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/hlo_run-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/generated/hlo_run-config.cmake ${CMAKE_BINARY_DIR}/generated/hlo_run-config-version.cmake
    DESTINATION ${package} COMPONENT Development)

  set(HLO_PC_PRIVATE "-lgomp ")
  foreach(library ${HLO_STATIC_SYSTEM_LIBRARIES})
    string(APPEND HLO_PC_PRIVATE "-l${library} ")
  endforeach()
  if(HLO_RUN_HAS_CUDA)
    string(APPEND HLO_PC_PRIVATE "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lpthread -lrt")
  endif()
  file(RELATIVE_PATH HLO_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  foreach(file hlo_run.pc hlo_run-static.pc)
    configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/${file}.in ${CMAKE_BINARY_DIR}/generated/${file} @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/generated/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
  endforeach()
endif()
