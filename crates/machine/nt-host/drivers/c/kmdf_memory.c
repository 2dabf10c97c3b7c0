/* A KMDF driver whose requests contain the address of memory of the client, which it increments. */

#include "framework.h"

typedef struct {
    PVOID address;
    ULONG length;
} MEMORY;

static NTSTATUS Increment(WDFREQUEST Request)
{
    MEMORY *memory;
    WDFMEMORY locked;
    PUCHAR bytes;
    size_t length;
    NTSTATUS status;

    status = WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, sizeof(*memory), (PVOID *)&memory, NULL);
    if (status >= 0) {
        status = WDF(WDFREQUESTPROBEANDLOCKUSERBUFFERFORWRITE, WdfRequestProbeAndLockUserBufferForWrite, Request,
                     memory->address, memory->length, &locked);
    }
    if (status >= 0) {
        bytes = WDF(WDFMEMORYGETBUFFER, WdfMemoryGetBuffer, locked, &length);
        while (length-- > 0) {
            ++*bytes++;
        }
    }
    return status;
}

static VOID NTAPI InCallerContext(WDFDEVICE Device, WDFREQUEST Request)
{
    (void)Device;
    Complete(Request, Increment(Request), 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDFDEVICE device;

    (void)Driver;
    WDF(WDFDEVICEINITSETIOINCALLERCONTEXTCALLBACK, WdfDeviceInitSetIoInCallerContextCallback, Init, InCallerContext);
    return WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
