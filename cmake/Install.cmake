# What `cmake --install` puts where: headers, kernel templates, libraries and a package that find_package(waco)
# finds wherever the prefix is moved to; the scripts for Slurm and SuiteSparse, which need nothing else of a clone.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/waco)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels-templates DESTINATION include FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/slurm ${PROJECT_SOURCE_DIR}/scripts/suitesparse
  DESTINATION share/waco/scripts USE_SOURCE_PERMISSIONS)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/built-program.sh DESTINATION share/waco/scripts)
install(EXPORT wacoTargets NAMESPACE waco:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/waco-config.cmake.in
  ${PROJECT_BINARY_DIR}/waco-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/waco-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/waco-config.cmake ${PROJECT_BINARY_DIR}/waco-config-version.cmake
  DESTINATION ${package_dir})
