# oneDNN as the target DNNL::dnnl. Debian's package configuration asks for OpenCL, which the library
# itself does not need, so header and library are looked up directly. Installed with the package.
if(NOT TARGET DNNL::dnnl)
  find_path(DNNL_INCLUDE_DIR dnnl.hpp)
  find_library(DNNL_LIBRARY dnnl)
  # The OpenMP runtime that oneDNN is linked to: its thread count is saved, set to one and restored
  # around each product, also in builds by another compiler with another OpenMP runtime.
  find_library(DNNL_GOMP_LIBRARY NAMES libgomp.so.1)
  if(NOT DNNL_INCLUDE_DIR OR NOT DNNL_LIBRARY OR NOT DNNL_GOMP_LIBRARY)
    message(FATAL_ERROR "oneDNN (dnnl.hpp, libdnnl) is missing; Debian's package is libdnnl-dev")
  endif()
  mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY DNNL_GOMP_LIBRARY)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${DNNL_GOMP_LIBRARY}")
endif()
