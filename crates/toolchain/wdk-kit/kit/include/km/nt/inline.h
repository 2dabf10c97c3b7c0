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
#ifdef __cplusplus
#define C_ASSERT(Condition) static_assert(Condition, #Condition)
#else
#define C_ASSERT(Condition) _Static_assert(Condition, #Condition)
#endif
#define ASSERT(Condition) ((void)0)
#define ASSERTMSG(Message, Condition) ((void)0)
#define NT_ASSERT(Condition) ((void)0)
#define NT_ASSERTMSG(Message, Condition) ((void)0)
#define NT_ASSERTMSGW(Message, Condition) ((void)0)
#define NT_VERIFY(Condition) ((void)(Condition))
#define NT_ANALYSIS_ASSUME(Condition) ((void)0)
#define RTL_SOFT_ASSERT(Condition) ((void)0)
#define FLT_ASSERT(Condition) ((void)0)
#define FLT_ASSERTMSG(Message, Condition) ((void)0)
#define DbgRaiseAssertionFailure() __int2c()
#define KdBreakPoint() ((void)0)
#define PAGED_CODE() ((void)0)
#define PAGED_CODE_LOCKED() ((void)0)
#define KdPrint(Arguments) ((void)0)
#define KdPrintEx(Arguments) ((void)0)

/* Words of older code. The last four belong to structured exception handling, and C++ has its own `try`. */
#define IN
#define OUT
#define OPTIONAL
#define NOTHING
#ifndef __cplusplus
#define try __try
#define except __except
#define finally __finally
#define leave __leave
#endif
#ifndef NOMINMAX
#define min(First, Second) ((First) < (Second) ? (First) : (Second))
#define max(First, Second) ((First) > (Second) ? (First) : (Second))
#endif
#define MAX_PATH 260
#define MAXULONGLONG 0xffffffffffffffffULL
#include "nt/limits.h"

/* The largest entry that IoAllocateErrorLogEntry allocates: a message to the error log has room for its header and a name of 40 characters. */
#define ERROR_LOG_MAXIMUM_SIZE ERROR_LOG_LIMIT_SIZE
#define EX_TIMER_UNLIMITED_TOLERANCE ((LONGLONG)-1)

#define FILE_INVALID_FILE_ID ((LONGLONG)-1)
#define STATUS_CONTINUE_COMPLETION STATUS_SUCCESS

#define FlagOn(Flags, Bits) ((Flags) & (Bits))
#define BooleanFlagOn(Flags, Bits) ((BOOLEAN)(((Flags) & (Bits)) != 0))
#define SetFlag(Flags, Bits) ((Flags) |= (Bits))
#define ClearFlag(Flags, Bits) ((Flags) &= ~(Bits))
#define Add2Ptr(Address, Offset) ((PVOID)((PUCHAR)(Address) + (Offset)))
#define PtrOffset(Base, Address) ((ULONG)((ULONG_PTR)(Address) - (ULONG_PTR)(Base)))
#define ROUND_TO_SIZE(Length, Alignment) (((ULONG_PTR)(Length) + (Alignment) - 1) & ~(ULONG_PTR)((Alignment) - 1))
#define ALIGN_DOWN_BY(Length, Alignment) ((ULONG_PTR)(Length) & ~((ULONG_PTR)(Alignment) - 1))
#define ALIGN_UP_BY(Length, Alignment) ALIGN_DOWN_BY((ULONG_PTR)(Length) + (Alignment) - 1, Alignment)
#define ALIGN_DOWN(Length, Type) ALIGN_DOWN_BY(Length, sizeof(Type))
#define ALIGN_UP(Length, Type) ALIGN_UP_BY(Length, sizeof(Type))
#define ALIGN_DOWN_POINTER_BY(Address, Alignment) ((PVOID)ALIGN_DOWN_BY(Address, Alignment))
#define ALIGN_UP_POINTER_BY(Address, Alignment) ((PVOID)ALIGN_UP_BY(Address, Alignment))
#define TYPE_ALIGNMENT(Type) ((LONG)__alignof(Type))
#define IS_ALIGNED(Value, Alignment) (((ULONG_PTR)(Value) & ((Alignment) - 1)) == 0)
#define RTL_FIELD_SIZE(Type, Field) (sizeof(((Type *)0)->Field))
#define RTL_SIZEOF_THROUGH_FIELD(Type, Field) (FIELD_OFFSET(Type, Field) + RTL_FIELD_SIZE(Type, Field))
#define FIELD_SIZE(Type, Field) RTL_FIELD_SIZE(Type, Field)
#define Int32x32To64(First, Second) ((LONGLONG)(LONG)(First) * (LONG)(Second))
#define UInt32x32To64(First, Second) ((ULONGLONG)(ULONG)(First) * (ULONG)(Second))
#define PtrToUlong(Address) ((ULONG)(ULONG_PTR)(Address))
#define PtrToLong(Address) ((LONG)(LONG_PTR)(Address))
#define PtrToUint(Address) ((UINT)(ULONG_PTR)(Address))
#define ULongToPtr(Value) ((PVOID)(ULONG_PTR)(ULONG)(Value))
#define UlongToPtr ULongToPtr
#define LongToPtr(Value) ((PVOID)(LONG_PTR)(LONG)(Value))
#define ULongToHandle(Value) ((HANDLE)(ULONG_PTR)(ULONG)(Value))
#define UlongToHandle ULongToHandle
#define HandleToULong(Handle) ((ULONG)(ULONG_PTR)(Handle))
#define HandleToUlong HandleToULong
#define METHOD_FROM_CTL_CODE(Code) ((ULONG)(Code) & 3)
#define DEVICE_TYPE_FROM_CTL_CODE(Code) ((ULONG)(Code) >> 16)
#define OBJ_NAME_PATH_SEPARATOR ((WCHAR)L'\\')

#define GetExceptionCode() _exception_code()
#define GetExceptionInformation() ((struct _EXCEPTION_POINTERS *)_exception_info())
#define AbnormalTermination() _abnormal_termination()

#define RtlCopyMemory(Destination, Source, Length) __builtin_memcpy((Destination), (Source), (Length))
#define RtlMoveMemory(Destination, Source, Length) __builtin_memmove((Destination), (Source), (Length))
#define RtlFillMemory(Destination, Length, Value) __builtin_memset((Destination), (Value), (Length))
#define RtlZeroMemory(Destination, Length) __builtin_memset((Destination), 0, (Length))
#define RtlEqualMemory(First, Second, Length) (!__builtin_memcmp((First), (Second), (Length)))
#define DECLSPEC_CACHEALIGN DECLSPEC_ALIGN(64)
#define RtlUshortByteSwap(Value) __builtin_bswap16(Value)
#define RtlUlongByteSwap(Value) __builtin_bswap32(Value)
#define RtlUlonglongByteSwap(Value) __builtin_bswap64(Value)
#define RtlCopyBytes RtlCopyMemory
#define RtlZeroBytes RtlZeroMemory
#define RtlRetrieveUshort(To, From) RtlCopyMemory((To), (From), sizeof(USHORT))
#define RtlRetrieveUlong(To, From) RtlCopyMemory((To), (From), sizeof(ULONG))
#define RtlStoreUlong(To, Value) (*(ULONG *)(To) = (Value))

/* C++ converts neither a literal nor PVOID to a pointer to characters that can be changed. */
#ifdef __cplusplus
extern "C++" {
constexpr PCHAR WdkKitText(const CHAR *Text) { return const_cast<PCHAR>(Text); }
constexpr PWCH WdkKitText(const WCHAR *Text) { return const_cast<PWCH>(Text); }
}
#else
#define WdkKitText (PVOID)
#endif
#define RTL_CONSTANT_OBJECT_ATTRIBUTES(Name, Flags) { sizeof(OBJECT_ATTRIBUTES), NULL, (PUNICODE_STRING)(Name), (Flags), NULL, NULL }
#define RTL_INIT_OBJECT_ATTRIBUTES RTL_CONSTANT_OBJECT_ATTRIBUTES
#define RTL_CONSTANT_STRING(Text) { sizeof(Text) - sizeof((Text)[0]), sizeof(Text), WdkKitText(Text) }
#define DECLARE_CONST_UNICODE_STRING(Name, Text) const UNICODE_STRING Name = RTL_CONSTANT_STRING(Text)
#define DECLARE_UNICODE_STRING_SIZE(Name, Count) \
    WCHAR Name##_buffer[Count]; \
    UNICODE_STRING Name = { 0, (Count) * sizeof(WCHAR), Name##_buffer }
#define DECLARE_GLOBAL_CONST_UNICODE_STRING(Name, Text) DECLARE_CONST_UNICODE_STRING(Name, Text)
#define RtlInitEmptyUnicodeString(String, Text, Size) \
    ((String)->Buffer = (Text), (String)->MaximumLength = (USHORT)(Size), (String)->Length = 0)
#define RtlInitEmptyAnsiString(String, Text, Size) \
    ((String)->Buffer = (Text), (String)->MaximumLength = (USHORT)(Size), (String)->Length = 0)
#define RtlAnsiStringToUnicodeSize(String) (((String)->Length + 1) * (ULONG)sizeof(WCHAR))
#define RtlUnicodeStringToAnsiSize(String) ((String)->Length / (ULONG)sizeof(WCHAR) + 1)
#define InitializeObjectAttributes(Object, Name, Flags, Root, Descriptor) \
    ((Object)->Length = sizeof(OBJECT_ATTRIBUTES), (Object)->RootDirectory = (Root), (Object)->ObjectName = (Name), \
     (Object)->Attributes = (Flags), (Object)->SecurityDescriptor = (Descriptor), (Object)->SecurityQualityOfService = NULL)

/* Operators of an enumeration whose values are flags; C has them for every enumeration. */
#ifdef __cplusplus
#define WDK_KIT_FLAGS(Type, Value) ((__underlying_type(Type))(Value))
#define DEFINE_ENUM_FLAG_OPERATORS(Type) \
    extern "C++" { \
    constexpr Type operator|(Type First, Type Second) { return (Type)(WDK_KIT_FLAGS(Type, First) | WDK_KIT_FLAGS(Type, Second)); } \
    constexpr Type operator&(Type First, Type Second) { return (Type)(WDK_KIT_FLAGS(Type, First) & WDK_KIT_FLAGS(Type, Second)); } \
    constexpr Type operator^(Type First, Type Second) { return (Type)(WDK_KIT_FLAGS(Type, First) ^ WDK_KIT_FLAGS(Type, Second)); } \
    constexpr Type operator~(Type Value) { return (Type)~WDK_KIT_FLAGS(Type, Value); } \
    inline Type &operator|=(Type &First, Type Second) { return First = First | Second; } \
    inline Type &operator&=(Type &First, Type Second) { return First = First & Second; } \
    inline Type &operator^=(Type &First, Type Second) { return First = First ^ Second; } \
    }
#else
#define DEFINE_ENUM_FLAG_OPERATORS(Type)
#endif

/* The structures that list a folder, in the form that FILE_INFORMATION_DEFINITION describes them. */
#define WDK_KIT_DEFINITION(Class, Record) \
    { Class, FIELD_OFFSET(Record, NextEntryOffset), FIELD_OFFSET(Record, FileNameLength), FIELD_OFFSET(Record, FileName) }
#define FileFullDirectoryInformationDefinition WDK_KIT_DEFINITION(FileFullDirectoryInformation, FILE_FULL_DIR_INFORMATION)
#define FileBothDirectoryInformationDefinition WDK_KIT_DEFINITION(FileBothDirectoryInformation, FILE_BOTH_DIR_INFORMATION)
#define FileDirectoryInformationDefinition WDK_KIT_DEFINITION(FileDirectoryInformation, FILE_DIRECTORY_INFORMATION)
#define FileNamesInformationDefinition WDK_KIT_DEFINITION(FileNamesInformation, FILE_NAMES_INFORMATION)
#define FileIdFullDirectoryInformationDefinition WDK_KIT_DEFINITION(FileIdFullDirectoryInformation, FILE_ID_FULL_DIR_INFORMATION)
#define FileIdBothDirectoryInformationDefinition WDK_KIT_DEFINITION(FileIdBothDirectoryInformation, FILE_ID_BOTH_DIR_INFORMATION)
#define FileIdExtdDirectoryInformationDefinition WDK_KIT_DEFINITION(FileIdExtdDirectoryInformation, FILE_ID_EXTD_DIR_INFORMATION)
#define FileIdGlobalTxDirectoryInformationDefinition WDK_KIT_DEFINITION(FileIdGlobalTxDirectoryInformation, FILE_ID_GLOBAL_TX_DIR_INFORMATION)

#define SECURITY_NULL_SID_AUTHORITY { 0, 0, 0, 0, 0, 0 }
#define SECURITY_WORLD_SID_AUTHORITY { 0, 0, 0, 0, 0, 1 }
#define SECURITY_LOCAL_SID_AUTHORITY { 0, 0, 0, 0, 0, 2 }
#define SECURITY_CREATOR_SID_AUTHORITY { 0, 0, 0, 0, 0, 3 }
#define SECURITY_NT_AUTHORITY { 0, 0, 0, 0, 0, 5 }
#define SECURITY_APP_PACKAGE_AUTHORITY { 0, 0, 0, 0, 0, 15 }
#define SECURITY_MANDATORY_LABEL_AUTHORITY { 0, 0, 0, 0, 0, 16 }

#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#define ZwCurrentProcess() NtCurrentProcess()
#define NtCurrentThread() ((HANDLE)(LONG_PTR)-2)
#define ZwCurrentThread() NtCurrentThread()
#define SharedUserData ((KUSER_SHARED_DATA *)KI_USER_SHARED_DATA)

/* What IoGetTopLevelIrp returns in place of an IRP. */
#define FSRTL_FSP_TOP_LEVEL_IRP ((LONG_PTR)1)
#define FSRTL_CACHE_TOP_LEVEL_IRP ((LONG_PTR)2)
#define FSRTL_MOD_WRITE_TOP_LEVEL_IRP ((LONG_PTR)3)
#define FSRTL_FAST_IO_TOP_LEVEL_IRP ((LONG_PTR)4)
#define FSRTL_NETWORK1_TOP_LEVEL_IRP ((LONG_PTR)5)
#define FSRTL_NETWORK2_TOP_LEVEL_IRP ((LONG_PTR)6)
#define FSRTL_MAX_TOP_LEVEL_IRP_FLAG ((LONG_PTR)0xFFFF)

#define IoCallDriver IofCallDriver
#define IoCompleteRequest IofCompleteRequest
#define ObReferenceObject ObfReferenceObject
#define ObDereferenceObject ObfDereferenceObject
#define PsGetCurrentProcess IoGetCurrentProcess
#define PsGetCurrentThread() ((PETHREAD)KeGetCurrentThread())
#define KeGetCurrentProcessorNumber() KeGetCurrentProcessorNumberEx(NULL)
#define KeGetCurrentProcessorIndex() KeGetCurrentProcessorNumberEx(NULL)
#define IoInitializeRemoveLock(Lock, Tag, Minutes, Most) IoInitializeRemoveLockEx((Lock), (Tag), (Minutes), (Most), sizeof(IO_REMOVE_LOCK))
#define IoAcquireRemoveLock(Lock, Tag) IoAcquireRemoveLockEx((Lock), (Tag), __FILE__, __LINE__, sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLock(Lock, Tag) IoReleaseRemoveLockEx((Lock), (Tag), sizeof(IO_REMOVE_LOCK))
#define IoReleaseRemoveLockAndWait(Lock, Tag) IoReleaseRemoveLockAndWaitEx((Lock), (Tag), sizeof(IO_REMOVE_LOCK))
#define IoRequestDpc(Device, Irp, Context) KeInsertQueueDpc(&(Device)->Dpc, (Irp), (Context))
#define IoInitializeDpcRequest(Device, Routine) KeInitializeDpc(&(Device)->Dpc, (PKDEFERRED_ROUTINE)(Routine), (Device))
#define IoGetFunctionCodeFromCtlCode(Code) ((Code) >> 2 & 0xFFF)
#define IoInitializeDriverCreateContext(Context) (RtlZeroMemory((Context), sizeof(IO_DRIVER_CREATE_CONTEXT)), (Context)->Size = sizeof(IO_DRIVER_CREATE_CONTEXT))
#define VER_SET_CONDITION(Mask, Kind, Condition) ((Mask) = VerSetConditionMask((Mask), (Kind), (Condition)))
#define KD_DEBUGGER_ENABLED (*KdDebuggerEnabled)
#define KD_DEBUGGER_NOT_PRESENT (*KdDebuggerNotPresent)
#define KeInitializeCallbackRecord(Record) ((Record)->State = 0)
#define ExInitializeWorkItem(Item, Function, Argument) \
    ((Item)->WorkerRoutine = (Function), (Item)->Parameter = (Argument), (Item)->List.Flink = NULL)
#define FsRtlEnterFileSystem() KeEnterCriticalRegion()
#define FsRtlExitFileSystem() KeLeaveCriticalRegion()
#define MmLockPagableCodeSection(Address) MmLockPagableDataSection(Address)
#define KeRaiseIrqlToDpcLevel() KfRaiseIrql(DISPATCH_LEVEL)
#define KeRaiseIrql(Irql, Old) (*(Old) = KfRaiseIrql(Irql))
#define KeAcquireSpinLock(Lock, Old) (*(Old) = KeAcquireSpinLockRaiseToDpc(Lock))
#define ExAcquirePushLockExclusive(Lock) ExAcquirePushLockExclusiveEx((Lock), 0)
#define ExAcquirePushLockShared(Lock) ExAcquirePushLockSharedEx((Lock), 0)
#define ExReleasePushLockExclusive(Lock) ExReleasePushLockExclusiveEx((Lock), 0)
#define ExReleasePushLockShared(Lock) ExReleasePushLockSharedEx((Lock), 0)

#define BYTE_OFFSET(Address) ((ULONG)((ULONG_PTR)(Address) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(Address) ((PVOID)((ULONG_PTR)(Address) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define ROUND_TO_PAGES(Size) (((ULONG_PTR)(Size) + PAGE_SIZE - 1) & ~(ULONG_PTR)(PAGE_SIZE - 1))
#define BYTES_TO_PAGES(Size) ((ULONG)(((ULONG_PTR)(Size) >> PAGE_SHIFT) + (((ULONG_PTR)(Size) & (PAGE_SIZE - 1)) != 0)))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(Address, Size) \
    ((ULONG)((((ULONG_PTR)(Address) & (PAGE_SIZE - 1)) + (SIZE_T)(Size) + (PAGE_SIZE - 1)) >> PAGE_SHIFT))
#define MmGetMdlPfnArray(Mdl) ((PPFN_NUMBER)((Mdl) + 1))
#define MmGetMdlBaseVa(Mdl) ((Mdl)->StartVa)
#define MmInitializeMdl(Mdl, Base, Length) \
    ((Mdl)->Next = NULL, (Mdl)->Size = (CSHORT)(sizeof(MDL) + sizeof(PFN_NUMBER) * ADDRESS_AND_SIZE_TO_SPAN_PAGES((Base), (Length))), \
     (Mdl)->MdlFlags = 0, (Mdl)->StartVa = PAGE_ALIGN(Base), (Mdl)->ByteOffset = BYTE_OFFSET(Base), (Mdl)->ByteCount = (ULONG)(Length))
#define MmPrepareMdlForReuse(Mdl) \
    (((Mdl)->MdlFlags & MDL_PARTIAL_HAS_BEEN_MAPPED) != 0 ? MmUnmapLockedPages((Mdl)->MappedSystemVa, (Mdl)) : (void)0)
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
FORCEINLINE VOID IoSetNextIrpStackLocation(PIRP Irp) {
    Irp->CurrentLocation--;
    Irp->Tail.Overlay.CurrentStackLocation--;
}
FORCEINLINE PDRIVER_CANCEL IoSetCancelRoutine(PIRP Irp, PDRIVER_CANCEL Routine) {
    return (PDRIVER_CANCEL)(ULONG_PTR)InterlockedExchangePointer((PVOID *)&Irp->CancelRoutine, (PVOID)(ULONG_PTR)Routine);
}
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

FORCEINLINE VOID ExInitializeSetTimerParameters(PEXT_SET_PARAMETERS Parameters) { RtlZeroMemory(Parameters, sizeof(*Parameters)); }

/* The stack grows down, from its high limit to its low one. */
FORCEINLINE ULONG_PTR IoGetRemainingStackSize(VOID) {
    ULONG_PTR Low, High;
    IoGetStackLimits(&Low, &High);
    return (ULONG_PTR)&Low - Low;
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

FORCEINLINE PSINGLE_LIST_ENTRY PopEntryList(PSINGLE_LIST_ENTRY Head) {
    PSINGLE_LIST_ENTRY First = Head->Next;
    if (First != NULL) {
        Head->Next = First->Next;
    }
    return First;
}

FORCEINLINE VOID PushEntryList(PSINGLE_LIST_ENTRY Head, PSINGLE_LIST_ENTRY Entry) {
    Entry->Next = Head->Next;
    Head->Next = Entry;
}

FORCEINLINE VOID AppendTailList(PLIST_ENTRY Head, PLIST_ENTRY List) {
    PLIST_ENTRY Last = Head->Blink;
    Head->Blink->Flink = List;
    Head->Blink = List->Blink;
    List->Blink->Flink = Head;
    List->Blink = Last;
}

/* The system's times are in the page that the kernel shares with programs. */
FORCEINLINE VOID KeQuerySystemTime(PLARGE_INTEGER Time) { Time->QuadPart = *(volatile LONGLONG *)(KI_USER_SHARED_DATA + 0x14); }
FORCEINLINE ULONGLONG KeQueryInterruptTime(VOID) { return *(volatile ULONGLONG *)(KI_USER_SHARED_DATA + 8); }
FORCEINLINE VOID KeQueryTickCount(PLARGE_INTEGER Count) { Count->QuadPart = *(volatile LONGLONG *)(KI_USER_SHARED_DATA + 0x320); }

/* Memory without contents of others. The second form is for code whose author has checked that nothing reads it first. */
FORCEINLINE PVOID ExAllocatePoolZero(POOL_TYPE Type, SIZE_T Size, ULONG Tag) {
    PVOID Memory = ExAllocatePoolWithTag(Type, Size, Tag);
    if (Memory != NULL) {
        RtlZeroMemory(Memory, Size);
    }
    return Memory;
}
FORCEINLINE PVOID ExAllocatePoolUninitialized(POOL_TYPE Type, SIZE_T Size, ULONG Tag) { return ExAllocatePoolWithTag(Type, Size, Tag); }
FORCEINLINE PVOID ExAllocatePoolQuotaZero(POOL_TYPE Type, SIZE_T Size, ULONG Tag) {
    PVOID Memory = ExAllocatePoolWithQuotaTag(Type, Size, Tag);
    if (Memory != NULL) {
        RtlZeroMemory(Memory, Size);
    }
    return Memory;
}

/* A driver that opts in gets pool that is not executable where it asks for NonPagedPool. */
#include "pool.h"
FORCEINLINE VOID ExInitializeDriverRuntime(ULONG Flags) {
#if defined(POOL_NX_OPTIN) && !defined(WDK_KIT_NX_AUTO)
    if (Flags & DrvRtPoolNxOptIn) {
        ExDefaultNonPagedPoolType = NonPagedPoolNx;
    }
#else
    (void)Flags;
#endif
}

FORCEINLINE PVOID RtlSecureZeroMemory(PVOID Memory, SIZE_T Length) {
    volatile UCHAR *Byte = (volatile UCHAR *)Memory;
    while (Length-- != 0) {
        *Byte++ = 0;
    }
    return Memory;
}

FORCEINLINE size_t strnlen_s(const char *Text, size_t Most) { return Text == NULL ? 0 : strnlen(Text, Most); }
FORCEINLINE size_t wcsnlen_s(const wchar_t *Text, size_t Most) { return Text == NULL ? 0 : wcsnlen(Text, Most); }

#ifdef __cplusplus
/* C++ has these for arrays too, whose length the compiler knows. */
extern "C++" {
#define WDK_KIT_FOR_ARRAYS(Name, Character) \
    template <size_t Length> inline errno_t Name(Character (&Target)[Length], const Character *Source) { return Name(Target, Length, Source); }
#define WDK_KIT_FOR_PARTS(Name, Character) \
    template <size_t Length> inline errno_t Name(Character (&Target)[Length], const Character *Source, size_t Count) { \
        return Name(Target, Length, Source, Count); \
    }
WDK_KIT_FOR_ARRAYS(strcpy_s, char)
WDK_KIT_FOR_ARRAYS(strcat_s, char)
WDK_KIT_FOR_ARRAYS(wcscpy_s, wchar_t)
WDK_KIT_FOR_ARRAYS(wcscat_s, wchar_t)
WDK_KIT_FOR_PARTS(strncpy_s, char)
WDK_KIT_FOR_PARTS(strncat_s, char)
WDK_KIT_FOR_PARTS(wcsncpy_s, wchar_t)
WDK_KIT_FOR_PARTS(wcsncat_s, wchar_t)
/* REFGUID is a reference in C++. */
inline NTSTATUS RtlStringFromGUID(const GUID &Guid, PUNICODE_STRING Text) { return RtlStringFromGUID(&Guid, Text); }
}
#endif

/* Lookaside lists: the first entries come from the list, the others from pool. */
FORCEINLINE PVOID WdkKitTake(PGENERAL_LOOKASIDE List) {
    PVOID Entry;
    List->TotalAllocates++;
    Entry = ExpInterlockedPopEntrySList(&List->ListHead);
    if (Entry == NULL) {
        List->AllocateMisses++;
        Entry = List->Allocate(List->Type, List->Size, List->Tag);
    }
    return Entry;
}
FORCEINLINE VOID WdkKitGive(PGENERAL_LOOKASIDE List, PVOID Entry) {
    List->TotalFrees++;
    if ((USHORT)List->ListHead.Alignment >= List->Depth) {
        List->FreeMisses++;
        List->Free(Entry);
    } else {
        ExpInterlockedPushEntrySList(&List->ListHead, (PSLIST_ENTRY)Entry);
    }
}
FORCEINLINE PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST List) { return WdkKitTake(&List->L); }
FORCEINLINE VOID ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST List, PVOID Entry) { WdkKitGive(&List->L, Entry); }
FORCEINLINE PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX List) {
    PVOID Entry;
    List->L.TotalAllocates++;
    Entry = ExpInterlockedPopEntrySList(&List->L.ListHead);
    if (Entry == NULL) {
        List->L.AllocateMisses++;
        Entry = List->L.AllocateEx(List->L.Type, List->L.Size, List->L.Tag, List);
    }
    return Entry;
}
FORCEINLINE VOID ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX List, PVOID Entry) {
    List->L.TotalFrees++;
    if ((USHORT)List->L.ListHead.Alignment >= List->L.Depth) {
        List->L.FreeMisses++;
        List->L.FreeEx(Entry, List);
    } else {
        ExpInterlockedPushEntrySList(&List->L.ListHead, (PSLIST_ENTRY)Entry);
    }
}
FORCEINLINE PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST List) { return WdkKitTake(&List->L); }
FORCEINLINE VOID ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST List, PVOID Entry) { WdkKitGive(&List->L, Entry); }
#endif
