/* Registers and ports of devices.
 *
 * A register is memory: a read is complete before later ones, and a write is complete before the function returns. */
#pragma once

#if !defined(WDK_KIT_NO_ROUTINES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES)
#define WDK_KIT_REGISTER(Name, Type) \
    FORCEINLINE Type READ_REGISTER_##Name(volatile Type *Register) { \
        __atomic_thread_fence(__ATOMIC_SEQ_CST); \
        return *Register; \
    } \
    FORCEINLINE VOID WRITE_REGISTER_##Name(volatile Type *Register, Type Value) { \
        *Register = Value; \
        __atomic_thread_fence(__ATOMIC_SEQ_CST); \
    } \
    FORCEINLINE VOID READ_REGISTER_BUFFER_##Name(volatile Type *Register, Type *Buffer, ULONG Count) { \
        __atomic_thread_fence(__ATOMIC_SEQ_CST); \
        while (Count-- != 0) { \
            *Buffer++ = *Register++; \
        } \
    } \
    FORCEINLINE VOID WRITE_REGISTER_BUFFER_##Name(volatile Type *Register, Type *Buffer, ULONG Count) { \
        while (Count-- != 0) { \
            *Register++ = *Buffer++; \
        } \
        __atomic_thread_fence(__ATOMIC_SEQ_CST); \
    }

WDK_KIT_REGISTER(UCHAR, UCHAR)
WDK_KIT_REGISTER(USHORT, USHORT)
WDK_KIT_REGISTER(ULONG, ULONG)
WDK_KIT_REGISTER(ULONG64, ULONG64)

#if defined(_AMD64_) || defined(__x86_64__)
#define WDK_KIT_PORT(Name, Type, Suffix) \
    FORCEINLINE Type READ_PORT_##Name(Type *Port) { \
        Type Value; \
        __asm__ volatile("in" Suffix " %w1, %0" : "=a"(Value) : "Nd"((USHORT)(ULONG_PTR)Port)); \
        return Value; \
    } \
    FORCEINLINE VOID WRITE_PORT_##Name(Type *Port, Type Value) { \
        __asm__ volatile("out" Suffix " %0, %w1" : : "a"(Value), "Nd"((USHORT)(ULONG_PTR)Port)); \
    }

WDK_KIT_PORT(UCHAR, UCHAR, "b")
WDK_KIT_PORT(USHORT, USHORT, "w")
WDK_KIT_PORT(ULONG, ULONG, "l")
#endif
#endif
