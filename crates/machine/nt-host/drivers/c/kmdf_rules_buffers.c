/* A KMDF driver that uses the buffer, the memory object or the MDL of a request after it completed the request: Microsoft's
   rules BufAfterReqCompletedRead and the 23 like it. Without a mistake it completes the request last. */

#include "kmdf_rules.h"

#define PAGE_READ 0x10 /* NormalPagePriority */

static BOOLEAN EndsWithA(void)
{
    ULONG length = 0;

    while (Rule[length] != 0) {
        length++;
    }
    return length != 0 && Rule[length - 1] == 'A';
}

/* The three ways to get a buffer. `Output` says which one. */
static PVOID Buffer(WDFREQUEST Request, BOOLEAN Output)
{
    PVOID buffer = NULL;
    size_t length = 0;

    if (Output) {
        FX(WdfRequestRetrieveOutputBuffer, Request, (size_t)1, &buffer, &length);
    } else {
        FX(WdfRequestRetrieveInputBuffer, Request, (size_t)1, &buffer, &length);
    }
    return buffer;
}

static WDFMEMORY Memory(WDFREQUEST Request, BOOLEAN Output)
{
    WDFMEMORY memory = NULL;

    if (Output) {
        FX(WdfRequestRetrieveOutputMemory, Request, &memory);
    } else {
        FX(WdfRequestRetrieveInputMemory, Request, &memory);
    }
    return memory;
}

static PMDL List(WDFREQUEST Request, BOOLEAN Output)
{
    PMDL list = NULL;

    if (Output) {
        FX(WdfRequestRetrieveOutputWdmMdl, Request, &list);
    } else {
        FX(WdfRequestRetrieveInputWdmMdl, Request, &list);
    }
    return list;
}

static void End(WDFREQUEST Request, BOOLEAN Now)
{
    if (Now) {
        Complete(Request, 0, 1);
    }
}

static void Serve(WDFREQUEST Request, BOOLEAN Output)
{
    BOOLEAN retrieves = !EndsWithA();
    volatile UCHAR *bytes;
    PVOID buffer;
    WDFMEMORY memory;
    PMDL list;

    if (retrieves) {
        End(Request, Broken);
    }
    switch (Rule[1]) {
    case 'u': /* Buf… */
        buffer = Buffer(Request, Output);
        End(Request, Broken && !retrieves);
        if (buffer != NULL) {
            bytes = buffer;
            *bytes = *bytes; /* mark Buf */
        }
        break;
    case 'e': /* Mem… */
        memory = Memory(Request, Output);
        End(Request, Broken && !retrieves);
        if (memory != NULL) {
            FX(WdfMemoryGetBuffer, memory, NULL); /* mark Mem */
        }
        break;
    case 'd': /* Mdl… */
        list = List(Request, Output);
        End(Request, Broken && !retrieves);
        if (list != NULL) {
            MmMapLockedPagesSpecifyCache(list, 0, 1, NULL, 0, PAGE_READ); /* mark Mdl */
        }
        break;
    }
    End(Request, !Broken);
}

static VOID NTAPI Read(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    Serve(Request, TRUE);
}

static VOID NTAPI Write(WDFQUEUE Queue, WDFREQUEST Request, size_t Length)
{
    Serve(Request, FALSE);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    Serve(Request, TRUE);
}

static VOID NTAPI InternalControl(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    Serve(Request, FALSE);
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_IO_QUEUE_CONFIG queue;
    WDFDEVICE device;
    NTSTATUS status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);

    if (status < 0) {
        return status;
    }
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
    queue.EvtIoRead = Read;
    queue.EvtIoWrite = Write;
    queue.EvtIoDeviceControl = Control;
    queue.EvtIoInternalDeviceControl = InternalControl;
    return WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, device, &queue, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ReadRule(Path);
    return CreateDriver(Driver, Path, DeviceAdd);
}
