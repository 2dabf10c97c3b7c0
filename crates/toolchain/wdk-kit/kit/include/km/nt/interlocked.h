/* Interlocked operations under their documented names. They are the compiler's intrinsics. */
#pragma once

#define InterlockedIncrement(Target) _InterlockedIncrement(Target)
#define InterlockedDecrement(Target) _InterlockedDecrement(Target)
#define InterlockedExchange _InterlockedExchange
#define InterlockedExchangeAdd _InterlockedExchangeAdd
#define InterlockedCompareExchange _InterlockedCompareExchange
#define InterlockedAnd _InterlockedAnd
#define InterlockedOr _InterlockedOr
#define InterlockedXor _InterlockedXor
/* clang knows these without intrin.h, but not their declarations. */
LONG64 _InterlockedIncrement64(LONG64 volatile *Target);
LONG64 _InterlockedDecrement64(LONG64 volatile *Target);
LONG64 _InterlockedExchange64(LONG64 volatile *Target, LONG64 Value);
LONG64 _InterlockedExchangeAdd64(LONG64 volatile *Target, LONG64 Value);
LONG64 _InterlockedAnd64(LONG64 volatile *Target, LONG64 Value);
LONG64 _InterlockedOr64(LONG64 volatile *Target, LONG64 Value);
LONG64 _InterlockedXor64(LONG64 volatile *Target, LONG64 Value);
#define InterlockedIncrement64 _InterlockedIncrement64
#define InterlockedDecrement64 _InterlockedDecrement64
#define InterlockedExchange64 _InterlockedExchange64
#define InterlockedExchangeAdd64 _InterlockedExchangeAdd64
#define InterlockedCompareExchange64 _InterlockedCompareExchange64
#define InterlockedAnd64 _InterlockedAnd64
#define InterlockedOr64 _InterlockedOr64
#define InterlockedIncrement16 _InterlockedIncrement16
#define InterlockedDecrement16 _InterlockedDecrement16
#define InterlockedExchange16 _InterlockedExchange16
#define InterlockedCompareExchange16 _InterlockedCompareExchange16
#define InterlockedAnd16 _InterlockedAnd16
#define InterlockedOr16 _InterlockedOr16
#define InterlockedXor16 _InterlockedXor16
#define InterlockedExchange8 _InterlockedExchange8
#define InterlockedAnd8 _InterlockedAnd8
#define InterlockedOr8 _InterlockedOr8
#define InterlockedXor8 _InterlockedXor8
#define InterlockedXor64 _InterlockedXor64
#define InterlockedExchangePointer(Target, Value) _InterlockedExchangePointer((PVOID volatile *)(Target), (Value))
#define InterlockedCompareExchangePointer(Target, Exchange, Comparand) \
    _InterlockedCompareExchangePointer((PVOID volatile *)(Target), (Exchange), (Comparand))
#define InterlockedAdd(Target, Value) (_InterlockedExchangeAdd((Target), (Value)) + (Value))
#define InterlockedAdd64(Target, Value) (_InterlockedExchangeAdd64((Target), (Value)) + (Value))
#define InterlockedBitTestAndSet _interlockedbittestandset
#define InterlockedBitTestAndReset _interlockedbittestandreset
#define RtlInterlockedSetBits(Flags, Bits) InterlockedOr((volatile LONG *)(Flags), (LONG)(Bits))
#define RtlInterlockedClearBits(Flags, Bits) InterlockedAnd((volatile LONG *)(Flags), ~(LONG)(Bits))

#define InterlockedPushEntrySList(Head, Entry) ExpInterlockedPushEntrySList((Head), (Entry))
#define InterlockedPopEntrySList(Head) ExpInterlockedPopEntrySList(Head)
#define InterlockedFlushSList(Head) ExpInterlockedFlushSList(Head)
#define ExInterlockedPushEntrySList(Head, Entry, Lock) ((void)(Lock), ExpInterlockedPushEntrySList((Head), (Entry)))
#define ExInterlockedPopEntrySList(Head, Lock) ((void)(Lock), ExpInterlockedPopEntrySList(Head))

#define KeMemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define MemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define YieldProcessor() __builtin_ia32_pause()
