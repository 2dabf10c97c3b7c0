/* A KMDF driver whose queue presents reads and writes: to EvtIoRead and EvtIoWrite, with BUG 2 and 3 to EvtIoDefault. With
   BUG 1 and 3 the queue allows requests of no bytes. Each request that the driver gets is a line of the log. */

#include "framework.h"

static VOID NTAPI Read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    LOG("read %u\n", (ULONG)Length);
    Complete(Request, 0, 0);
}

static VOID NTAPI Write(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    LOG("write %u\n", (ULONG)Length);
    Complete(Request, 0, Length);
}

static VOID NTAPI Default(WDFQUEUE Queue, WDFREQUEST Request)
{
    LOG("default\n");
    Complete(Request, 0, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_IO_QUEUE_CONFIG config;
    WDFDEVICE device;
    NTSTATUS status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);

    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchParallel);
    config.AllowZeroLengthRequests = BUG == 1 || BUG == 3;
    if (BUG < 2) {
        config.EvtIoRead = Read;
        config.EvtIoWrite = Write;
    } else {
        config.EvtIoDefault = Default;
    }
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &config, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
