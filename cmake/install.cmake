# `cmake --install` and find_package(bdnn).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS bdnn EXPORT bdnn-targets)
install(TARGETS bdnn_program)
if(BDNN_HAS_OPENCV)
  install(TARGETS bdnn_opencv LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bdnn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT bdnn-targets NAMESPACE bdnn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bdnn)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/bdnn-config.cmake.in bdnn-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bdnn)
write_basic_package_version_file(bdnn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/bdnn-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/bdnn-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bdnn)
