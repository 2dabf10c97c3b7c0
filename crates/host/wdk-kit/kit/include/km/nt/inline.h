/* Macros and inline functions, for drivers that contain C code. Rust bindings have neither.
 *
 * Written from Microsoft's documentation of each macro and function. */
#pragma once

#define NT_SUCCESS(Status) ((NTSTATUS)(Status) >= 0)
#define NT_INFORMATION(Status) ((ULONG)(Status) >> 30 == 1)
#define NT_WARNING(Status) ((ULONG)(Status) >> 30 == 2)
#define NT_ERROR(Status) ((ULONG)(Status) >> 30 == 3)

/* For C code only: wdk-sys defines these constants itself. */
#define POOL_FLAG_USE_QUOTA ((POOL_FLAGS)0x1)
#define POOL_FLAG_UNINITIALIZED ((POOL_FLAGS)0x2)
#define POOL_FLAG_SESSION ((POOL_FLAGS)0x4)
#define POOL_FLAG_CACHE_ALIGNED ((POOL_FLAGS)0x8)
#define POOL_FLAG_RAISE_ON_FAILURE ((POOL_FLAGS)0x20)
#define POOL_FLAG_NON_PAGED ((POOL_FLAGS)0x40)
#define POOL_FLAG_NON_PAGED_EXECUTE ((POOL_FLAGS)0x80)
#define POOL_FLAG_PAGED ((POOL_FLAGS)0x100)
#define POOL_FLAG_SPECIAL_POOL ((POOL_FLAGS)0x100000000)

/* The Windows release in a version such as NTDDI_VERSION, without the service pack and the update. */
#define OSVER(Version) ((Version) & 0xFFFF0000)

#define CTL_CODE(DeviceType, Function, Method, Access) ((DeviceType) << 16 | (Access) << 14 | (Function) << 2 | (Method))
#define CONTAINING_RECORD(Address, Type, Field) ((Type *)((PUCHAR)(Address) - __builtin_offsetof(Type, Field)))
#define FIELD_OFFSET(Type, Field) ((LONG)__builtin_offsetof(Type, Field))
#define ARRAYSIZE(Array) (sizeof(Array) / sizeof((Array)[0]))
#define RTL_NUMBER_OF(Array) ARRAYSIZE(Array)
#define UNREFERENCED_PARAMETER(Parameter) ((void)(Parameter))
#define ARGUMENT_PRESENT(Argument) ((Argument) != NULL)
#define C_ASSERT(Condition) _Static_assert(Condition, #Condition)
#define ASSERT(Condition) ((void)0)
#define NT_ASSERT(Condition) ((void)0)
#define PAGED_CODE() ((void)0)
#define KdPrint(Arguments) ((void)0)
#define KdPrintEx(Arguments) ((void)0)

#define GetExceptionCode() _exception_code()
#define GetExceptionInformation() ((struct _EXCEPTION_POINTERS *)_exception_info())
#define AbnormalTermination() _abnormal_termination()

#define RtlCopyMemory(Destination, Source, Length) __builtin_memcpy((Destination), (Source), (Length))
#define RtlMoveMemory(Destination, Source, Length) __builtin_memmove((Destination), (Source), (Length))
#define RtlFillMemory(Destination, Length, Value) __builtin_memset((Destination), (Value), (Length))
#define RtlZeroMemory(Destination, Length) __builtin_memset((Destination), 0, (Length))
#define RtlEqualMemory(First, Second, Length) (!__builtin_memcmp((First), (Second), (Length)))

#define RTL_CONSTANT_STRING(Text) { sizeof(Text) - sizeof((Text)[0]), sizeof(Text), (PVOID)(Text) }
#define DECLARE_CONST_UNICODE_STRING(Name, Text) const UNICODE_STRING Name = RTL_CONSTANT_STRING(Text)
#define InitializeObjectAttributes(Object, Name, Flags, Root, Descriptor) \
    (*(Object) = (OBJECT_ATTRIBUTES){ sizeof(OBJECT_ATTRIBUTES), (Root), (Name), (Flags), (Descriptor), NULL })

#define IoCallDriver IofCallDriver
#define IoCompleteRequest IofCompleteRequest
#define ObReferenceObject ObfReferenceObject
#define ObDereferenceObject ObfDereferenceObject
#define PsGetCurrentProcess IoGetCurrentProcess
#define KeRaiseIrql(Irql, Old) (*(Old) = KfRaiseIrql(Irql))
#define KeAcquireSpinLock(Lock, Old) (*(Old) = KeAcquireSpinLockRaiseToDpc(Lock))
#define ExAcquirePushLockExclusive(Lock) ExAcquirePushLockExclusiveEx((Lock), 0)
#define ExAcquirePushLockShared(Lock) ExAcquirePushLockSharedEx((Lock), 0)
#define ExReleasePushLockExclusive(Lock) ExReleasePushLockExclusiveEx((Lock), 0)
#define ExReleasePushLockShared(Lock) ExReleasePushLockSharedEx((Lock), 0)

#define BYTE_OFFSET(Address) ((ULONG)((ULONG_PTR)(Address) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(Address) ((PVOID)((ULONG_PTR)(Address) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define MmGetMdlByteCount(Mdl) ((Mdl)->ByteCount)
#define MmGetMdlByteOffset(Mdl) ((Mdl)->ByteOffset)
#define MmGetMdlVirtualAddress(Mdl) ((PVOID)((PUCHAR)(Mdl)->StartVa + (Mdl)->ByteOffset))

#if !defined(WDK_KIT_NO_ROUTINES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES)
FORCEINLINE PVOID MmGetSystemAddressForMdlSafe(PMDL Mdl, ULONG Priority) {
    const SHORT Mapped = MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL;
    return Mdl->MdlFlags & Mapped ? Mdl->MappedSystemVa : MmMapLockedPagesSpecifyCache(Mdl, KernelMode, MmCached, NULL, FALSE, Priority);
}

FORCEINLINE PIO_STACK_LOCATION IoGetCurrentIrpStackLocation(PIRP Irp) { return Irp->Tail.Overlay.CurrentStackLocation; }
FORCEINLINE PIO_STACK_LOCATION IoGetNextIrpStackLocation(PIRP Irp) { return Irp->Tail.Overlay.CurrentStackLocation - 1; }
FORCEINLINE VOID IoMarkIrpPending(PIRP Irp) { IoGetCurrentIrpStackLocation(Irp)->Control |= SL_PENDING_RETURNED; }

FORCEINLINE VOID IoSkipCurrentIrpStackLocation(PIRP Irp) {
    Irp->CurrentLocation++;
    Irp->Tail.Overlay.CurrentStackLocation++;
}

/* Copies the fields before CompletionRoutine: the completion routine and its context must not be copied to the lower driver. */
FORCEINLINE VOID IoCopyCurrentIrpStackLocationToNext(PIRP Irp) {
    PIO_STACK_LOCATION Next = IoGetNextIrpStackLocation(Irp);
    RtlCopyMemory(Next, IoGetCurrentIrpStackLocation(Irp), FIELD_OFFSET(IO_STACK_LOCATION, CompletionRoutine));
    Next->Control = 0;
}

FORCEINLINE VOID IoSetCompletionRoutine(PIRP Irp, PIO_COMPLETION_ROUTINE Routine, PVOID Context, BOOLEAN OnSuccess, BOOLEAN OnError,
                                        BOOLEAN OnCancel) {
    PIO_STACK_LOCATION Next = IoGetNextIrpStackLocation(Irp);
    Next->CompletionRoutine = Routine;
    Next->Context = Context;
    Next->Control = (OnSuccess ? SL_INVOKE_ON_SUCCESS : 0) | (OnError ? SL_INVOKE_ON_ERROR : 0) | (OnCancel ? SL_INVOKE_ON_CANCEL : 0);
}

FORCEINLINE VOID ExInitializeFastMutex(PFAST_MUTEX Mutex) {
    Mutex->Count = 1;
    Mutex->Owner = NULL;
    Mutex->Contention = 0;
    KeInitializeEvent(&Mutex->Event, SynchronizationEvent, FALSE);
}

FORCEINLINE VOID InitializeListHead(PLIST_ENTRY Head) { Head->Flink = Head->Blink = Head; }
FORCEINLINE BOOLEAN IsListEmpty(const LIST_ENTRY *Head) { return Head->Flink == Head; }

FORCEINLINE BOOLEAN RemoveEntryList(PLIST_ENTRY Entry) {
    PLIST_ENTRY Next = Entry->Flink, Previous = Entry->Blink;
    Previous->Flink = Next;
    Next->Blink = Previous;
    return Next == Previous;
}

FORCEINLINE PLIST_ENTRY RemoveHeadList(PLIST_ENTRY Head) {
    PLIST_ENTRY Entry = Head->Flink;
    RemoveEntryList(Entry);
    return Entry;
}

FORCEINLINE PLIST_ENTRY RemoveTailList(PLIST_ENTRY Head) {
    PLIST_ENTRY Entry = Head->Blink;
    RemoveEntryList(Entry);
    return Entry;
}

FORCEINLINE VOID InsertHeadList(PLIST_ENTRY Head, PLIST_ENTRY Entry) {
    Entry->Flink = Head->Flink;
    Entry->Blink = Head;
    Head->Flink->Blink = Entry;
    Head->Flink = Entry;
}

FORCEINLINE VOID InsertTailList(PLIST_ENTRY Head, PLIST_ENTRY Entry) { InsertHeadList(Head->Blink, Entry); }
#endif
