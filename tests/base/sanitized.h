// Whether this program was built with a sanitizer: everything is slower then, and races show on small
// sizes.
#ifndef QUIESCE_TESTS_BASE_SANITIZED_H_
#define QUIESCE_TESTS_BASE_SANITIZED_H_

namespace quiesce {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace quiesce

#endif  // QUIESCE_TESTS_BASE_SANITIZED_H_
