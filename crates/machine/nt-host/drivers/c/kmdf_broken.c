/* A KMDF driver with one mistake, which BUG selects. 0 is no mistake. */

#include <ntddk.h>
#include <wdf.h>

#define CALL(type, name) ((type)WdfFunctions_01033[name##TableIndex])
#define TWICE 1
#define NEVER 2
#define REFERENCE 3
#define WAIT 4
#define CANCELABLE 5
#define BYTES 6
#define BREAK 7 /* a mistake only if the registry makes it one */

static VOID Complete(WDFREQUEST Request)
{
    CALL(PFN_WDFREQUESTCOMPLETE, WdfRequestComplete)(WdfDriverGlobals, Request, 0); /* mark 1 */
}

static VOID NTAPI Canceled(WDFREQUEST Request)
{
    Complete(Request);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{ /* mark 2 */
    WDFDEVICE device = CALL(PFN_WDFIOQUEUEGETDEVICE, WdfIoQueueGetDevice)(WdfDriverGlobals, Queue);
    WDFWAITLOCK lock;
    KIRQL old;

    (void)Input;
    (void)Code;
    if (BUG == REFERENCE) {
        CALL(PFN_WDFOBJECTREFERENCEACTUAL, WdfObjectReferenceActual)(WdfDriverGlobals, device, NULL, 0, "");
    }
    if (CALL(PFN_WDFWAITLOCKCREATE, WdfWaitLockCreate)(WdfDriverGlobals, NULL, &lock) >= 0) {
        old = KfRaiseIrql(BUG == WAIT ? 2 : 0);
        CALL(PFN_WDFWAITLOCKACQUIRE, WdfWaitLockAcquire)(WdfDriverGlobals, lock, NULL); /* mark 4 */
        CALL(PFN_WDFWAITLOCKRELEASE, WdfWaitLockRelease)(WdfDriverGlobals, lock);
        KeLowerIrql(old);
    }
    if (BUG == CANCELABLE) {
        CALL(PFN_WDFREQUESTMARKCANCELABLE, WdfRequestMarkCancelable)(WdfDriverGlobals, Request, Canceled);
    }
    CALL(PFN_WDFREQUESTSETINFORMATION, WdfRequestSetInformation)(WdfDriverGlobals, Request, Output + (BUG == BYTES));
    if (BUG == BREAK) {
        CALL(PFN_WDFVERIFIERDBGBREAKPOINT, WdfVerifierDbgBreakPoint)(WdfDriverGlobals); /* mark 7 */
    }
    if (BUG != NEVER) {
        Complete(Request);
    }
    if (BUG == TWICE) {
        Complete(Request);
    }
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    status = CALL(PFN_WDFDEVICECREATE, WdfDeviceCreate)(WdfDriverGlobals, &Init, NULL, &device); /* mark 3 */
    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchSequential);
    queue.EvtIoDeviceControl = Control;
    return CALL(PFN_WDFIOQUEUECREATE, WdfIoQueueCreate)(WdfDriverGlobals, device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {0};

    config.Size = sizeof(config);
    config.EvtDriverDeviceAdd = DeviceAdd;
    return CALL(PFN_WDFDRIVERCREATE, WdfDriverCreate)(WdfDriverGlobals, Driver, Path, NULL, &config, NULL);
}
