/* Writes COUNT events of SIZE bytes. */
#include "plain.h"

static const GUID Provider = {0x7D3B1F0A, 0x1C52, 0x4E0B, {9, 8, 7, 6, 5, 4, 3, 2}};

static UCHAR Data[SIZE];

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    EVENT_DESCRIPTOR event = {.Id = 1, .Level = 4};
    EVENT_DATA_DESCRIPTOR data = {.Ptr = (ULONG_PTR)Data, .Size = SIZE};
    REGHANDLE handle;
    NTSTATUS status = EtwRegister(&Provider, NULL, NULL, &handle);

    Driver->DriverUnload = Unload;
    if (status < 0)
        return status;
    for (ULONG number = 0; number < COUNT; number++) {
        *(ULONG *)Data = number;
        status = EtwWrite(handle, &event, NULL, 1, &data);
    }
    LOG("last %08x\n", status);
    EtwUnregister(handle);
    return 0;
}
