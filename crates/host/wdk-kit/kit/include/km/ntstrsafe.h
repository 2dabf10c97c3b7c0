/* The string functions of the WDK are inline C functions, for which bindgen generates no bindings; only the limits are declared. */
#pragma once

#include "wdm.h"

#define NTSTRSAFE_MAX_CCH 2147483647
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH 32767
