/* A WDM driver that checks what the pages of routines on Microsoft Learn state. It returns a status for each step. With
   BUG it makes a call that a page forbids. */

#include "steps.h"

#define ROUTINE(type, name, ...) type(NTAPI *name)(__VA_ARGS__) = LookUp(L## #name)
#define GET_ID 1    /* EVENT_ACTIVITY_CTRL_GET_ID */
#define CREATE_ID 3 /* EVENT_ACTIVITY_CTRL_CREATE_ID */

/* EtwActivityIdControl: "IRQL < DISPATCH_LEVEL, unless the ControlCode is EVENT_ACTIVITY_CTRL_CREATE_ID". */
static NTSTATUS ActivityIds(void)
{
    static const GUID none;
    ROUTINE(NTSTATUS, EtwActivityIdControl, ULONG, GUID *);
    GUID id = none;
    KSPIN_LOCK lock = 0;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    NTSTATUS status = EtwActivityIdControl(BUG == 1 ? GET_ID : CREATE_ID, &id); /* mark 1 */

    KeReleaseSpinLock(&lock, old);
    CHECK(BUG == 1 || (status == 0 && RtlCompareMemory(&id, &none, sizeof id) != sizeof id));
    return 0;
}

static UNICODE_STRING *GivenPath, OwnPath;

/* DRIVER_INITIALIZE: the I/O manager frees the path after DriverEntry has returned, and a driver keeps a copy. */
static NTSTATUS RegistryPath(void)
{
    const UNICODE_STRING *path = BUG == 2 ? GivenPath : &OwnPath;

    CHECK(path->Length > 20); /* mark 2 */
    CHECK(path->Buffer[0] == L'\\');
    return 0;
}

static const STEP Steps[] = {ActivityIds, RegistryPath};

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    RtlFreeUnicodeString(&OwnPath);
    DeleteDevice(Driver);
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    if (Current(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    return RUN_STEPS(Irp);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;

    GivenPath = Path;
    CHECK(CALL(ANY, "RtlDuplicateUnicodeString", 1, Path, &OwnPath) == 0);
    CHECK(CreateDevice(Driver, L"\\Device\\CDocumented", Dispatch, &device) == 0);
    Driver->DriverUnload = Unload;
    return 0;
}
