# AMD's AOCL-Sparse, which no distribution packages: looked for in AOCL_ROOT, AOCLSPARSE_ROOT and the usual places.
# Defines AOCLSparse::AOCLSparse. Its lp64 build (32-bit indices) is meant.
find_path(AOCLSparse_INCLUDE_DIR aoclsparse.h
  HINTS ${AOCLSPARSE_ROOT} ENV AOCLSPARSE_ROOT ENV AOCL_ROOT PATH_SUFFIXES include include_LP64 include/LP64)
find_library(AOCLSparse_LIBRARY aoclsparse
  HINTS ${AOCLSPARSE_ROOT} ENV AOCLSPARSE_ROOT ENV AOCL_ROOT PATH_SUFFIXES lib lib_LP64 lib/LP64)
# Newer versions ask another of AMD's libraries about the processor.
find_library(AOCLSparse_UTILS_LIBRARY aoclutils HINTS ENV AOCL_ROOT PATH_SUFFIXES lib lib_LP64 lib/LP64)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(AOCLSparse REQUIRED_VARS AOCLSparse_LIBRARY AOCLSparse_INCLUDE_DIR)
if(AOCLSparse_FOUND AND NOT TARGET AOCLSparse::AOCLSparse)
  add_library(AOCLSparse::AOCLSparse UNKNOWN IMPORTED)
  set_target_properties(AOCLSparse::AOCLSparse PROPERTIES
    IMPORTED_LOCATION ${AOCLSparse_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${AOCLSparse_INCLUDE_DIR})
  if(AOCLSparse_UTILS_LIBRARY)
    target_link_libraries(AOCLSparse::AOCLSparse INTERFACE ${AOCLSparse_UTILS_LIBRARY})
  endif()
endif()
mark_as_advanced(AOCLSparse_INCLUDE_DIR AOCLSparse_LIBRARY AOCLSparse_UTILS_LIBRARY)
