# Compiles through ccache where it is installed. Paths below the source tree are made relative, so that any clone profits
# from what another one compiled; the rest is what ccache asks for where headers are precompiled.
find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  else()
    # clang's precompiled headers name the files of their clone: no other clone could reuse what was compiled with them.
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endif()
