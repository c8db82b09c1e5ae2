# What `cmake --install` puts where: headers, kernel templates, libraries and a package that find_package(waco)
# finds wherever the prefix is moved to; the scripts for Slurm and SuiteSparse, which need nothing else of a clone.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/waco)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels-templates DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/waco
  FILES_MATCHING PATTERN "*.hpp")
set(scripts_dir ${CMAKE_INSTALL_DATADIR}/waco/scripts)
foreach(folder slurm suitesparse)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/${folder}/*)
  install(PROGRAMS ${scripts} DESTINATION ${scripts_dir}/${folder})
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/scripts/built-program.sh ${PROJECT_BINARY_DIR}/built-program.sh @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/built-program.sh DESTINATION ${scripts_dir})
install(EXPORT wacoTargets NAMESPACE waco:: DESTINATION ${package_dir})
# Where find_package doesn't look: with bin/ of the build in PATH it looks in the build folder itself.
set(built_package ${PROJECT_BINARY_DIR}/package/waco)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/waco-config.cmake.in
  ${built_package}/waco-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${built_package}/waco-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${built_package}/waco-config.cmake ${built_package}/waco-config-version.cmake
  DESTINATION ${package_dir})
