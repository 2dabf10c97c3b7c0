/* Stack cookies, for code that is compiled with /GS. A mismatch calls __fastfail, as with the WDK. */

#include "ntdef.h"

#define FAST_FAIL_STACK_COOKIE_CHECK_FAILURE 2

/* The loader finds the cookie only through the load configuration. If an image has none, the cookie keeps this value. */
ULONG_PTR __security_cookie = 0x00002B992DDFA232;

void __security_check_cookie(ULONG_PTR cookie)
{
    if (cookie != __security_cookie) {
#if defined(_M_ARM64) || defined(__aarch64__)
        register unsigned int code __asm__("w0") = FAST_FAIL_STACK_COOKIE_CHECK_FAILURE;
        __asm__ volatile("brk #0xf003" : : "r"(code));
#else
        __asm__ volatile("int $0x29" : : "c"(FAST_FAIL_STACK_COOKIE_CHECK_FAILURE));
#endif
        __builtin_unreachable();
    }
}
