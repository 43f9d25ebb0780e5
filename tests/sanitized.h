#pragma once

// GCC says so by macros of its own, clang by __has_feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BDNN_UNDER_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define BDNN_UNDER_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BDNN_UNDER_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define BDNN_UNDER_THREAD_SANITIZER
#endif

namespace bdnn::testing {

// Sanitizers slow random cases down by an order of magnitude; there, fewer of the same kinds find what they look for.
#if defined(BDNN_UNDER_ADDRESS_SANITIZER)
constexpr bool kUnderAddressSanitizer = true;
#else
constexpr bool kUnderAddressSanitizer = false;
#endif
#if defined(BDNN_UNDER_THREAD_SANITIZER)
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

}  // namespace bdnn::testing
