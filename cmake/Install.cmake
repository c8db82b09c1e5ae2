# What `cmake --install` puts where: headers, kernel templates, libraries and a package that find_package(waco)
# finds wherever the prefix is moved to.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/waco)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels-templates DESTINATION include FILES_MATCHING PATTERN "*.hpp")
install(EXPORT wacoTargets NAMESPACE waco:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/waco-config.cmake.in
  ${PROJECT_BINARY_DIR}/waco-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/waco-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/waco-config.cmake ${PROJECT_BINARY_DIR}/waco-config-version.cmake
  DESTINATION ${package_dir})
