/* The functions of ntintsafe.h under the names that programs use. They report overflow with INTSAFE_E_ARITHMETIC_OVERFLOW.
 *
 * Written from Microsoft's documentation of the functions. */
#pragma once

#include "ntintsafe.h"

#ifndef S_OK
#define S_OK ((HRESULT)0L)
#endif
#ifndef INTSAFE_E_ARITHMETIC_OVERFLOW
#define INTSAFE_E_ARITHMETIC_OVERFLOW ((HRESULT)0x80070216L)
#endif
#ifndef SUCCEEDED
#define SUCCEEDED(Result) ((HRESULT)(Result) >= 0)
#define FAILED(Result) ((HRESULT)(Result) < 0)
#endif

WDK_KIT_SAFE(, HRESULT, 0x80070216L)

#define SIZETAdd SizeTAdd
#define SIZETSub SizeTSub
#define SIZETMult SizeTMult
#define SizeTToULong ULongPtrToULong
#define SizeTToUShort ULongPtrToUShort
#define ULongToSizeT ULongToULongPtr
