/* Arithmetic and conversions that report overflow with STATUS_INTEGER_OVERFLOW. On overflow the result has all bits set.
 *
 * Written from Microsoft's documentation of the functions. */
#pragma once

#include "ntdef.h"

#define WDK_KIT_CHECKED(Name, Type, Operation, Builtin) \
    FORCEINLINE NTSTATUS Rtl##Name##Operation(Type First, Type Second, Type *Result) { \
        if (!Builtin(First, Second, Result)) { \
            return 0; \
        } \
        *Result = (Type)-1; \
        return (NTSTATUS)0xC0000095L; \
    }

#define WDK_KIT_ARITHMETIC(Name, Type) \
    WDK_KIT_CHECKED(Name, Type, Add, __builtin_add_overflow) \
    WDK_KIT_CHECKED(Name, Type, Sub, __builtin_sub_overflow) \
    WDK_KIT_CHECKED(Name, Type, Mult, __builtin_mul_overflow)

#define WDK_KIT_CONVERSION(From, FromType, Target, ToType) \
    FORCEINLINE NTSTATUS Rtl##From##To##Target(FromType Value, ToType *Result) { \
        if (!__builtin_add_overflow(Value, (FromType)0, Result)) { \
            return 0; \
        } \
        *Result = (ToType)-1; \
        return (NTSTATUS)0xC0000095L; \
    }

#define WDK_KIT_CONVERSIONS(From, FromType) \
    WDK_KIT_CONVERSION(From, FromType, Char, CHAR) \
    WDK_KIT_CONVERSION(From, FromType, UChar, UCHAR) \
    WDK_KIT_CONVERSION(From, FromType, Int8, INT8) \
    WDK_KIT_CONVERSION(From, FromType, UInt8, UINT8) \
    WDK_KIT_CONVERSION(From, FromType, Short, SHORT) \
    WDK_KIT_CONVERSION(From, FromType, UShort, USHORT) \
    WDK_KIT_CONVERSION(From, FromType, Int, INT) \
    WDK_KIT_CONVERSION(From, FromType, UInt, UINT) \
    WDK_KIT_CONVERSION(From, FromType, Long, LONG) \
    WDK_KIT_CONVERSION(From, FromType, ULong, ULONG) \
    WDK_KIT_CONVERSION(From, FromType, LongPtr, LONG_PTR) \
    WDK_KIT_CONVERSION(From, FromType, ULongPtr, ULONG_PTR) \
    WDK_KIT_CONVERSION(From, FromType, IntPtr, INT_PTR) \
    WDK_KIT_CONVERSION(From, FromType, UIntPtr, UINT_PTR)

WDK_KIT_ARITHMETIC(Int8, INT8)
WDK_KIT_ARITHMETIC(UInt8, UINT8)
WDK_KIT_ARITHMETIC(UChar, UCHAR)
WDK_KIT_ARITHMETIC(Short, SHORT)
WDK_KIT_ARITHMETIC(UShort, USHORT)
WDK_KIT_ARITHMETIC(Int, INT)
WDK_KIT_ARITHMETIC(UInt, UINT)
WDK_KIT_ARITHMETIC(Long, LONG)
WDK_KIT_ARITHMETIC(ULong, ULONG)
WDK_KIT_ARITHMETIC(LongLong, LONGLONG)
WDK_KIT_ARITHMETIC(ULongLong, ULONGLONG)
WDK_KIT_ARITHMETIC(LongPtr, LONG_PTR)
WDK_KIT_ARITHMETIC(ULongPtr, ULONG_PTR)
WDK_KIT_ARITHMETIC(IntPtr, INT_PTR)
WDK_KIT_ARITHMETIC(UIntPtr, UINT_PTR)
WDK_KIT_ARITHMETIC(SizeT, SIZE_T)
WDK_KIT_ARITHMETIC(SSizeT, SSIZE_T)

WDK_KIT_CONVERSIONS(Short, SHORT)
WDK_KIT_CONVERSIONS(UShort, USHORT)
WDK_KIT_CONVERSIONS(Int, INT)
WDK_KIT_CONVERSIONS(UInt, UINT)
WDK_KIT_CONVERSIONS(Long, LONG)
WDK_KIT_CONVERSIONS(ULong, ULONG)
WDK_KIT_CONVERSIONS(LongLong, LONGLONG)
WDK_KIT_CONVERSIONS(ULongLong, ULONGLONG)
WDK_KIT_CONVERSIONS(LongPtr, LONG_PTR)
WDK_KIT_CONVERSIONS(ULongPtr, ULONG_PTR)
WDK_KIT_CONVERSIONS(IntPtr, INT_PTR)
WDK_KIT_CONVERSIONS(UIntPtr, UINT_PTR)

#define RtlSIZETAdd RtlSizeTAdd
#define RtlSIZETSub RtlSizeTSub
#define RtlSIZETMult RtlSizeTMult
#define RtlSizeTToULong RtlULongPtrToULong
#define RtlSizeTToUShort RtlULongPtrToUShort
#define RtlSizeTToUChar RtlULongPtrToUChar
#define RtlSizeTToLong RtlULongPtrToLong
#define RtlULongToSizeT RtlULongToULongPtr
