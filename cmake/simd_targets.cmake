# The SIMD targets that every kernel is compiled for: each of them costs a compilation of the kernel.
#   SCALAR, SSSE3, AVX2, AVX3 and AVX3_DL, the one with VPOPCNTDQ, which Highway leaves out unless asked; kernels that count
#   bits or look up bytes ask for it (src/CMakeLists.txt).
#   Not SSE4: CPUs that have it and no AVX2 were last made in 2013, and SSSE3 serves them.
# A build with a sanitizer runs on the machine that builds it, so it leaves out what this machine cannot run; and data
# races do not depend on the target, so ThreadSanitizer gets one.
set(disabled HWY_SSE4)
if(BDNN_SANITIZE)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  if(NOT flags MATCHES " avx512_vpopcntdq")
    list(APPEND disabled HWY_AVX3_DL)
  endif()
  if(NOT flags MATCHES " avx512f")
    list(APPEND disabled HWY_AVX3)
  endif()
  if(BDNN_SANITIZE STREQUAL "thread")
    list(APPEND disabled HWY_AVX3_DL HWY_AVX3 HWY_SSSE3)
  endif()
endif()
list(JOIN disabled "|" disabled)
set(BDNN_SIMD_DEFINITIONS "HWY_DISABLED_TARGETS=(${disabled})")

# The target without SIMD is Highway's SCALAR, which is all that it has with GCC before 12.3; other compilers would get EMU128.
set(BDNN_SCALAR_DEFINITION "")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.3)
  set(BDNN_SCALAR_DEFINITION HWY_BROKEN_EMU128=1)
endif()
