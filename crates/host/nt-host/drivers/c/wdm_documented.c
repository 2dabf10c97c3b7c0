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

static const STEP Steps[] = {ActivityIds};

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

    (void)Path;
    return CreateDevice(Driver, L"\\Device\\CDocumented", Dispatch, &device);
}
