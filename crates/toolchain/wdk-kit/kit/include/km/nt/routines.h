/* Routines that the metadata does not have, and variables that ntoskrnl.exe exports.
 *
 * The import libraries have only the `__imp_` symbol for a variable that is declared with DECLSPEC_IMPORT, as in the WDK. For the
 * other variables they also have the name. That name is the slot to which the loader writes the address of the variable, so the
 * declaration has one more `*` than the type of the kernel's variable. */
#pragma once

#ifndef WDK_KIT_NO_ROUTINES
NTSYSAPI SIZE_T NTAPI RtlCompareMemory(const VOID *Source1, const VOID *Source2, SIZE_T Length);
NTSYSAPI USHORT NTAPI RtlCaptureStackBackTrace(ULONG FramesToSkip, ULONG FramesToCapture, PVOID *BackTrace, PULONG BackTraceHash);
NTSYSAPI VOID NTAPI RtlCopyMemoryNonTemporal(VOID *Destination, const VOID *Source, SIZE_T Length);
NTSYSAPI NTSTATUS NTAPI ZwGetNextProcess(HANDLE ProcessHandle, ACCESS_MASK DesiredAccess, ULONG HandleAttributes, ULONG Flags, PHANDLE NewProcessHandle);
NTSYSAPI NTSTATUS NTAPI ZwGetNextThread(HANDLE ProcessHandle, HANDLE ThreadHandle, ACCESS_MASK DesiredAccess, ULONG HandleAttributes, ULONG Flags,
                                        PHANDLE NewThreadHandle);
NTSYSAPI NTSTATUS NTAPI ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName);
NTSYSAPI VOID NTAPI DbgBreakPoint(VOID);
NTKERNELAPI NTSTATUS NTAPI WmiTraceMessageVa(ULONG64 LoggerHandle, ULONG MessageFlags, const GUID *MessageGuid, USHORT MessageNumber, va_list Arguments);
NTKERNELAPI KIRQL NTAPI KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql);
NTKERNELAPI VOID NTAPI KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI KeLowerIrql(KIRQL NewIrql);
NTKERNELAPI PKTHREAD NTAPI KeGetCurrentThread(VOID);
NTKERNELAPI PLIST_ENTRY FASTCALL ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock);
NTKERNELAPI PLIST_ENTRY FASTCALL ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock);
NTKERNELAPI PLIST_ENTRY FASTCALL ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedPopEntrySList(PSLIST_HEADER ListHead);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedFlushSList(PSLIST_HEADER ListHead);
#endif

extern POBJECT_TYPE *CmKeyObjectType;
extern POBJECT_TYPE *ExDesktopObjectType;
extern POBJECT_TYPE *ExEventObjectType;
extern POBJECT_TYPE *ExSemaphoreObjectType;
extern POBJECT_TYPE *IoFileObjectType;
extern POBJECT_TYPE *PsProcessType;
extern POBJECT_TYPE *PsThreadType;
extern POBJECT_TYPE *PsJobType;
extern POBJECT_TYPE *PsSiloContextNonPagedType;
extern POBJECT_TYPE *PsSiloContextPagedType;
extern POBJECT_TYPE *SeTokenObjectType;
extern POBJECT_TYPE *TmEnlistmentObjectType;
extern POBJECT_TYPE *TmResourceManagerObjectType;
extern POBJECT_TYPE *TmTransactionManagerObjectType;
extern POBJECT_TYPE *TmTransactionObjectType;
extern DECLSPEC_IMPORT PEPROCESS PsInitialSystemProcess;
extern DECLSPEC_IMPORT PSE_EXPORTS SeExports;
extern PUSHORT NtBuildNumber;
extern DECLSPEC_IMPORT CCHAR KeNumberProcessors;
extern PBOOLEAN KdDebuggerEnabled;
extern PBOOLEAN KdDebuggerNotPresent;
extern PULONG InitSafeBootMode;
extern DECLSPEC_IMPORT const PVOID MmHighestUserAddress;
extern DECLSPEC_IMPORT const PVOID MmSystemRangeStart;
extern DECLSPEC_IMPORT const ULONG64 MmUserProbeAddress;
extern DECLSPEC_IMPORT PVOID MmBadPointer;
extern PBOOLEAN Mm64BitPhysicalAddress;
extern const UCHAR *const *FsRtlLegalAnsiCharacterArray;
extern PUSHORT *NlsOemLeadByteInfo;
extern BOOLEAN *NlsMbCodePageTag;
extern BOOLEAN *NlsMbOemCodePageTag;
extern DECLSPEC_IMPORT KSPIN_LOCK IoStatisticsLock;
extern DECLSPEC_IMPORT ULONG IoReadOperationCount;
extern DECLSPEC_IMPORT ULONG IoWriteOperationCount;
extern DECLSPEC_IMPORT ULONG IoOtherOperationCount;
extern DECLSPEC_IMPORT LARGE_INTEGER IoReadTransferCount;
extern DECLSPEC_IMPORT LARGE_INTEGER IoWriteTransferCount;
extern DECLSPEC_IMPORT LARGE_INTEGER IoOtherTransferCount;
extern DECLSPEC_IMPORT ULONG CcFastMdlReadWait;
