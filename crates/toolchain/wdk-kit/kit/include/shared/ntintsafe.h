/* Arithmetic and conversions that report overflow with STATUS_INTEGER_OVERFLOW. On overflow the result has all bits set.
 *
 * Written from Microsoft's documentation of the functions. */
#pragma once

#include "ntdef.h"
#include "nt/limits.h"

/* stdint.h has these as well. */
#ifndef INT8_MIN
#define INT8_MIN (-127 - 1)
#endif
#ifndef INT8_MAX
#define INT8_MAX 127
#endif
#ifndef UINT8_MAX
#define UINT8_MAX 0xff
#endif
#ifndef INT16_MIN
#define INT16_MIN (-32767 - 1)
#endif
#ifndef INT16_MAX
#define INT16_MAX 32767
#endif
#ifndef UINT16_MAX
#define UINT16_MAX 0xffff
#endif
#ifndef INT32_MIN
#define INT32_MIN INT_MIN
#endif
#ifndef INT32_MAX
#define INT32_MAX INT_MAX
#endif
#ifndef UINT32_MAX
#define UINT32_MAX UINT_MAX
#endif
#ifndef INT64_MIN
#define INT64_MIN LLONG_MIN
#endif
#ifndef INT64_MAX
#define INT64_MAX LLONG_MAX
#endif
#ifndef UINT64_MAX
#define UINT64_MAX ULLONG_MAX
#endif
#define BYTE_MAX UCHAR_MAX
#define WORD_MAX USHORT_MAX
#define DWORD_MAX ULONG_MAX
#define LONG64_MIN LLONG_MIN
#define LONG64_MAX LLONG_MAX
#define LONGLONG_MIN LLONG_MIN
#define LONGLONG_MAX LLONG_MAX
#define ULONG64_MAX ULLONG_MAX
#define ULONGLONG_MAX ULLONG_MAX
#define DWORD64_MAX ULLONG_MAX
#define DWORDLONG_MAX ULLONG_MAX
#define INT_PTR_MIN LLONG_MIN
#define INT_PTR_MAX LLONG_MAX
#define UINT_PTR_MAX ULLONG_MAX
#define LONG_PTR_MIN LLONG_MIN
#define LONG_PTR_MAX LLONG_MAX
#define ULONG_PTR_MAX ULLONG_MAX
#define DWORD_PTR_MAX ULLONG_MAX
#define PTRDIFF_T_MIN LLONG_MIN
#define PTRDIFF_T_MAX LLONG_MAX
#define SIZE_T_MAX ULLONG_MAX
#define SSIZE_T_MIN LLONG_MIN
#define SSIZE_T_MAX LLONG_MAX

#define WDK_KIT_CHECKED(Prefix, Status, Failure, Name, Type, Operation, Builtin) \
    FORCEINLINE Status Prefix##Name##Operation(Type First, Type Second, Type *Result) { \
        if (!Builtin(First, Second, Result)) { \
            return 0; \
        } \
        *Result = (Type)-1; \
        return (Status)Failure; \
    }

#define WDK_KIT_ARITHMETIC(Prefix, Status, Failure, Name, Type) \
    WDK_KIT_CHECKED(Prefix, Status, Failure, Name, Type, Add, __builtin_add_overflow) \
    WDK_KIT_CHECKED(Prefix, Status, Failure, Name, Type, Sub, __builtin_sub_overflow) \
    WDK_KIT_CHECKED(Prefix, Status, Failure, Name, Type, Mult, __builtin_mul_overflow)

#define WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Target, ToType) \
    FORCEINLINE Status Prefix##From##To##Target(FromType Value, ToType *Result) { \
        if (!__builtin_add_overflow(Value, (FromType)0, Result)) { \
            return 0; \
        } \
        *Result = (ToType)-1; \
        return (Status)Failure; \
    }

#define WDK_KIT_CONVERSIONS(Prefix, Status, Failure, From, FromType) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Char, CHAR) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, UChar, UCHAR) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Int8, INT8) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, UInt8, UINT8) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Short, SHORT) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, UShort, USHORT) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Int, INT) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, UInt, UINT) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, Long, LONG) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, ULong, ULONG) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, LongPtr, LONG_PTR) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, ULongPtr, ULONG_PTR) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, IntPtr, INT_PTR) \
    WDK_KIT_CONVERSION(Prefix, Status, Failure, From, FromType, UIntPtr, UINT_PTR)

/* The same functions with two names and two kinds of results: RtlULongAdd here, ULongAdd in intsafe.h. */
#define WDK_KIT_SAFE(Prefix, Status, Failure) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, Int8, INT8) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, UInt8, UINT8) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, UChar, UCHAR) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, Short, SHORT) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, UShort, USHORT) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, Int, INT) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, UInt, UINT) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, Long, LONG) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, ULong, ULONG) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, LongLong, LONGLONG) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, ULongLong, ULONGLONG) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, LongPtr, LONG_PTR) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, ULongPtr, ULONG_PTR) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, IntPtr, INT_PTR) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, UIntPtr, UINT_PTR) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, SizeT, SIZE_T) \
    WDK_KIT_ARITHMETIC(Prefix, Status, Failure, SSizeT, SSIZE_T) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, Short, SHORT) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, UShort, USHORT) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, Int, INT) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, UInt, UINT) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, Long, LONG) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, ULong, ULONG) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, LongLong, LONGLONG) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, ULongLong, ULONGLONG) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, LongPtr, LONG_PTR) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, ULongPtr, ULONG_PTR) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, IntPtr, INT_PTR) \
    WDK_KIT_CONVERSIONS(Prefix, Status, Failure, UIntPtr, UINT_PTR)

WDK_KIT_SAFE(Rtl, NTSTATUS, 0xC0000095L)

#define RtlSIZETAdd RtlSizeTAdd
#define RtlSIZETSub RtlSizeTSub
#define RtlSIZETMult RtlSizeTMult
#define RtlSizeTToULong RtlULongPtrToULong
#define RtlSizeTToUShort RtlULongPtrToUShort
#define RtlSizeTToUChar RtlULongPtrToUChar
#define RtlSizeTToLong RtlULongPtrToLong
#define RtlULongToSizeT RtlULongToULongPtr
