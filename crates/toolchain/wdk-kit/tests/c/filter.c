/* A minifilter that changes the target of a request, which the types of the kit must allow. It also uses what other public minifilters use. */

#define UNICODE
#include <initguid.h>
#include <fltKernel.h>
#include <ntdddisk.h>
#include <ntddscsi.h>
#include <ntintsafe.h>
#include <limits.h>
#include <stdint.h>

/* The offsets that follow from POINTER_ALIGNMENT in the documentation: each parameter is in a word of its own. */
#define AT(member, offset) C_ASSERT(FIELD_OFFSET(FLT_PARAMETERS, member) == (offset))
AT(Create.Options, 8);
AT(Create.FileAttributes, 16);
AT(Create.ShareAccess, 18);
AT(Create.EaLength, 24);
AT(Create.AllocationSize, 40);
AT(Read.Key, 8);
AT(Read.ByteOffset, 16);
AT(Read.ReadBuffer, 24);
AT(Read.MdlAddress, 32);
AT(Write.WriteBuffer, 24);
AT(QueryFileInformation.FileInformationClass, 8);
AT(QueryFileInformation.InfoBuffer, 16);
AT(SetFileInformation.ParentOfTarget, 16);
AT(SetFileInformation.InfoBuffer, 32);
AT(QueryVolumeInformation.VolumeBuffer, 16);
AT(DirectoryControl.QueryDirectory.FileInformationClass, 16);
AT(DirectoryControl.QueryDirectory.DirectoryBuffer, 32);
AT(DirectoryControl.QueryDirectory.MdlAddress, 40);
AT(FileSystemControl.Buffered.SystemBuffer, 24);
AT(DeviceIoControl.Direct.OutputMdlAddress, 40);
C_ASSERT(sizeof(FLT_PARAMETERS) == 48);
C_ASSERT(sizeof(FLT_IO_PARAMETER_BLOCK) == 0x48);

FLT_PREOP_CALLBACK_STATUS FLTAPI Redirect(_Inout_ PFLT_CALLBACK_DATA Data, _In_ PCFLT_RELATED_OBJECTS Objects,
                                          _Flt_CompletionContext_Outptr_ PVOID *CompletionContext)
{
    *CompletionContext = NULL;
    if (FLT_IS_IRP_OPERATION(Data)) {
        Data->Iopb->TargetFileObject = Objects->FileObject;
        FltSetCallbackDataDirty(Data);
    }
    return FLT_PREOP_SUCCESS_NO_CALLBACK;
}

/* The ranges of integers. */
C_ASSERT(CHAR_BIT == 8 && INT_MIN < 0 && INT_MAX == 0x7fffffff && UINT_MAX == 0xffffffff && LONG_MIN < 0 && LONG_MAX == MAXLONG && ULLONG_MAX == MAXULONGLONG);
C_ASSERT(LONGLONG_MIN < 0 && LONGLONG_MAX == 0x7fffffffffffffffLL && ULONGLONG_MAX == MAXUINT64 && SIZE_T_MAX == SIZE_MAX && UINT_PTR_MAX == MAXULONG_PTR);
C_ASSERT(SHORT_MIN == -32768 && BYTE_MAX == 0xff && INT64_MIN == MININT64 && UINT16_MAX == USHORT_MAX && MAXINT32 == INT_MAX && MINLONG_PTR == LONG_PTR_MIN);

/* Documented values, and the page that the kernel shares with programs on 64-bit processors. */
C_ASSERT(IOCTL_DISK_GET_CLUSTER_INFO == 0x00070214 && IOCTL_DISK_SET_CLUSTER_INFO == 0x0007C218 && sizeof(DISK_CLUSTER_INFO) == 32);
C_ASSERT(KI_USER_SHARED_DATA == 0xFFFFF78000000000ULL && sizeof(PROCESS_BASIC_INFORMATION) == 48 && IOCTL_SCSI_PASS_THROUGH == 0x4D004);

/* The WDK does not declare these, so drivers do. */
typedef enum { SystemProcessInformation = 5 } SYSTEM_INFORMATION_CLASS;
NTSTATUS NTAPI ZwQuerySystemInformation(SYSTEM_INFORMATION_CLASS Class, PVOID Information, ULONG Length, PULONG ReturnLength);
typedef NTSTATUS(NTAPI *QUERY_PROCESS)(HANDLE Process, PROCESSINFOCLASS Class, PVOID Information, ULONG Length, PULONG ReturnLength);
QUERY_PROCESS ZwQueryInformationProcess;
typedef struct _PEB {
    UCHAR Reserved[2];
} PEB;

EXTERN_C_START
DRIVER_INITIALIZE DriverEntry;
EXTERN_C_END

DECLSPEC_NOINLINE DECLSPEC_RESTRICT PCWCHAR Text(VOID) { return TEXT("text"); }

static const FILE_INFORMATION_DEFINITION Listing = FileIdBothDirectoryInformationDefinition;
C_ASSERT(sizeof(FILTER_MESSAGE_HEADER) == 16 && FIELD_OFFSET(FILTER_REPLY_HEADER, MessageId) == 8 && FLTFL_AGGREGATE_INFO_IS_MINIFILTER == 1);
C_ASSERT(FIELD_OFFSET(FILE_ID_BOTH_DIR_INFORMATION, FileName) == 104 && TYPE_ALIGNMENT(FILE_ID_BOTH_DIR_INFORMATION) == 8);
#if !defined(__FLTKERNEL__) || !defined(_NTDDK_) || !defined(_NTIFS_) || !defined(_WDMDDK_)
#error "the names by which code recognises a driver are missing"
#endif

/* Whether a request belongs to a prefetch, or comes from another component of the file system. */
BOOLEAN IsInternal(PFLT_FILTER Filter, PFLT_CALLBACK_DATA Data)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Harddisk0");
    OBJECT_ATTRIBUTES object = RTL_CONSTANT_OBJECT_ATTRIBUTES(&name, OBJ_KERNEL_HANDLE);
    PECP_LIST list;
    PVOID context;

    if (IoGetTopLevelIrp() == (PIRP)FSRTL_FSP_TOP_LEVEL_IRP || object.Length != sizeof(object) || Listing.FileNameOffset == 0)
        return TRUE;
    return NT_SUCCESS(FltGetEcpListFromCallbackData(Filter, Data, &list)) && list != NULL &&
           NT_SUCCESS(FltFindExtraCreateParameter(Filter, list, &GUID_ECP_PREFETCH_OPEN, &context, NULL));
}

/* Strings, lists and counters. */
NTSTATUS Count(PLOOKASIDE_LIST_EX List, volatile LONG64 *Total, volatile SHORT *Small, int(__cdecl *Compare)(const void *, const void *))
{
    PWCHAR name = (PWCHAR)ExAllocateFromLookasideListEx(List);

    if (name == NULL)
        return STATUS_INSUFFICIENT_RESOURCES;
    swprintf_s(name, 16, L"%d", atoi("5"));
    qsort(name, wcsnlen_s(name, 16), sizeof(WCHAR), Compare);
    InterlockedIncrement64(Total);
    InterlockedXor64(Total, 1);
    InterlockedCompareExchange16(Small, 1, 0);
    RtlSecureZeroMemory(name, sizeof(WCHAR));
    ExFreeToLookasideListEx(List, name);
    KdBreakPoint();
    return SharedUserData->NtMajorVersion >= 10 && NtCurrentProcess() != NULL ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}
