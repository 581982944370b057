# libquiesce.so, libquiesce.a, the quiesce program, and what `cmake --install` puts where.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects)
foreach(layer ${QUIESCE_LAYERS})
  if(NOT layer STREQUAL cli)
    list(APPEND objects $<TARGET_OBJECTS:quiesce_${layer}_objects>)
  endif()
endforeach()
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
set(private_libs TBB::tbb DNNL::dnnl ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS})

add_library(quiesce SHARED ${objects} ${headers})
add_library(quiesce_static STATIC ${objects} ${headers})
foreach(library quiesce quiesce_static)
  # The public headers use Abseil's types; everything else stays inside.
  target_link_libraries(${library} PUBLIC ${absl_libs} PRIVATE ${private_libs})
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME quiesce)
  add_library(Quiesce::${library} ALIAS ${library})
endforeach()
set_target_properties(quiesce PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# Threads that die after a dlclose still run our hooks, so the code has to stay.
target_link_options(quiesce PRIVATE -Wl,-z,nodelete)
if(NOT QUIESCE_SANITIZE)
  target_link_options(quiesce PRIVATE -Wl,--no-undefined)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/src/cli/main.cc)
  add_executable(quiesce_program ${CMAKE_SOURCE_DIR}/src/cli/main.cc)
  target_link_libraries(quiesce_program PRIVATE quiesce_cli)
  set_target_properties(quiesce_program PROPERTIES OUTPUT_NAME quiesce)
  install(TARGETS quiesce_program RUNTIME)
endif()

install(TARGETS quiesce quiesce_static EXPORT QuiesceTargets)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/quiesce TYPE INCLUDE)
install(EXPORT QuiesceTargets NAMESPACE Quiesce:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Quiesce)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/QuiesceConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/QuiesceConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Quiesce)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/QuiesceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/QuiesceConfig.cmake
  ${CMAKE_BINARY_DIR}/package/QuiesceConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/dnnl.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Quiesce)
# Found from where it lies, so that it is right for any --prefix given at installation.
file(RELATIVE_PATH QUIESCE_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/quiesce.pc.in ${CMAKE_BINARY_DIR}/package/quiesce.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/quiesce.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
