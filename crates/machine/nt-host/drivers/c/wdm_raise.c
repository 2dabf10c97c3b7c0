/* A WDM driver whose allocations raise an exception or return NULL where there is no memory, as their pages say. A request
   makes each of them and returns a word for each: 1 for memory, 0 for NULL, or the code of the exception. */

#include "plain.h"

#define RAISE 16  /* POOL_RAISE_IF_ALLOCATION_FAILURE */
#define RETURN 8  /* POOL_QUOTA_FAIL_INSTEAD_OF_RAISE */
#define NX 512    /* NonPagedPoolNx */
#define COUNT 8

static GENERAL_LOOKASIDE Raising, Returning;
static PVOID(NTAPI *FromList)(PVOID List);
static VOID(NTAPI *DeleteList)(PVOID List);

static PVOID LookUp(PWSTR Name)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

static __attribute__((noinline)) PVOID Allocate(ULONG Which)
{
    switch (Which) {
    case 0:
        return ExAllocatePoolWithQuotaTag((POOL_TYPE)NX, 16, TAG);
    case 1:
        return ExAllocatePoolWithQuotaTag((POOL_TYPE)(NX | RETURN), 16, TAG);
    case 2:
        return ExAllocatePoolWithTag((POOL_TYPE)(NX | RAISE), 16, TAG);
    case 3:
        return ExAllocatePoolWithTag((POOL_TYPE)NX, 16, TAG);
    case 4:
        return ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_RAISE_ON_FAILURE, 16, TAG);
    case 5:
        return ExAllocatePool2(POOL_FLAG_NON_PAGED, 16, TAG);
    case 6:
        return FromList(&Raising);
    default:
        return FromList(&Returning);
    }
}

static __attribute__((noinline)) ULONG Try(ULONG Which)
{
    PVOID memory = NULL;

    __try {
        memory = Allocate(Which);
    } __except (1) {
        return _exception_code();
    }
    if (memory == NULL) {
        return 0;
    }
    ExFreePoolWithTag(memory, TAG);
    return 1;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG *result = Irp->AssociatedIrp.SystemBuffer;
    ULONG index;

    (void)Device;
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    for (index = 0; index < COUNT; index++) {
        result[index] = Try(index);
    }
    return Finish(Irp, 0, COUNT * sizeof(ULONG));
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    DeleteList(&Raising);
    DeleteList(&Returning);
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS(NTAPI * initialize)(PVOID, PVOID, PVOID, POOL_TYPE, ULONG, SIZE_T, ULONG, USHORT) =
        LookUp(L"ExInitializeLookasideListEx");
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    ULONG index;
    NTSTATUS status;

    (void)Path;
    FromList = LookUp(L"ExAllocateFromLookasideListEx");
    DeleteList = LookUp(L"ExDeleteLookasideListEx");
    if (initialize == NULL || FromList == NULL || DeleteList == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    RtlInitUnicodeString(&name, L"\\Device\\CRaise");
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;
    }
    /* EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL */
    status = initialize(&Raising, NULL, NULL, (POOL_TYPE)NX, 1, 16, TAG, 0);
    if (status >= 0) {
        status = initialize(&Returning, NULL, NULL, (POOL_TYPE)NX, 0, 16, TAG, 0);
        if (status < 0) {
            DeleteList(&Raising);
        }
    }
    if (status < 0) {
        IoDeleteDevice(device);
        return status;
    }
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    Driver->DriverUnload = Unload;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}
