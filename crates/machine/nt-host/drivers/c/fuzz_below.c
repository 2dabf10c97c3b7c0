/* A KMDF driver that trusts the device below, for the fuzzer: it asks for a header, and then for the entries that the header
   counts. Without BUG, the same driver with the checks. */

#include "framework.h"

#define READ_TABLE 0x222000  /* of clients */
#define GET_HEADER 0x224000  /* of the device below */
#define GET_ENTRIES 0x224004 /* of the device below */
#define MAGIC 0x52444854
#define ENTRIES 16
#define TAG 'tseT'

typedef struct {
    ULONG magic;
    ULONG count;
} HEADER;

static WDFIOTARGET Target;
static volatile ULONG Sink;

static NTSTATUS Ask(ULONG Code, PVOID Buffer, ULONG Length)
{
    WDF_MEMORY_DESCRIPTOR output = {0};
    ULONG_PTR bytes = 0;
    NTSTATUS status;

    output.Type = WdfMemoryDescriptorTypeBuffer;
    output.u.BufferType.Buffer = Buffer;
    output.u.BufferType.Length = Length;
    status = WDF(WDFIOTARGETSENDIOCTLSYNCHRONOUSLY, WdfIoTargetSendIoctlSynchronously, Target, NULL, Code, NULL, &output,
                 NULL, &bytes);
    return status < 0 || bytes == Length ? status : STATUS_UNSUCCESSFUL;
}

static NTSTATUS ReadTable(void)
{
    HEADER header = {0};
    NTSTATUS status = Ask(GET_HEADER, &header, sizeof(header));
    ULONG index, *table;

    if (status < 0) {
        return status;
    }
    if (header.magic != MAGIC) {
        return STATUS_UNSUCCESSFUL;
    }
    if (!BUG && header.count > ENTRIES) {
        return STATUS_UNSUCCESSFUL;
    }
    table = ExAllocatePool2(POOL_FLAG_NON_PAGED, ENTRIES * sizeof(*table), TAG);
    if (table == NULL) {
        return STATUS_UNSUCCESSFUL;
    }
    status = Ask(GET_ENTRIES, table, ENTRIES * sizeof(*table));
    if (status < 0) {
        if (!BUG) {
            ExFreePoolWithTag(table, TAG);
        }
        return status;
    }
    for (index = 0; index < header.count; index++) {
        Sink = table[index];
    }
    ExFreePoolWithTag(table, TAG);
    return 0;
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    (void)Queue, (void)Output, (void)Input;
    Complete(Request, Code == READ_TABLE ? ReadTable() : STATUS_INVALID_DEVICE_REQUEST, 0);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    Target = WDF(WDFDEVICEGETIOTARGET, WdfDeviceGetIoTarget, device);
    return CreateControlQueue(device, WdfIoQueueDispatchSequential, Control);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
