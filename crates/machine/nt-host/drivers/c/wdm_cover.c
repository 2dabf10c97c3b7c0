/* A driver whose lines are marked if the requests of the test reach them, or if they have code and are not reached. */

#include "plain.h"

#define NOINLINE __attribute__((noinline))
#define THREADS 8

static WCHAR DeviceName[] = L"\\Device\\CCover";
static WCHAR LinkName[] = L"\\DosDevices\\CCover";
static volatile LONG Sink, Finished;
static KEVENT Start;

static NOINLINE ULONG Branch(ULONG Value)
{
    if (Value > 4) {                    /* hit */
        return Value * 3;               /* missed */
    } else if (Value == 3) {
        Sink += 5;                      /* hit */
    }
    while (Value < 10) {                /* hit */
        Value++;                        /* hit */
    }
    return Value;                       /* hit */
}

static NOINLINE ULONG Select(ULONG Value)
{
    switch (Value) {                    /* hit */
    case 0:
        return 12;                      /* missed */
    case 1:
        Sink += 2;                      /* missed */
        break;                          /* missed */
    case 2:
        Sink += 9;                      /* hit */
        break;                          /* hit */
    case 3:
        return Branch(1);               /* missed */
    case 4:
        Sink ^= 3;                      /* missed */
        return 4;                       /* missed */
    default:
        return 7;                       /* hit */
    }
    return 1;                           /* hit */
}

static NOINLINE ULONG Never(ULONG Value)
{
    return Value + 1;                   /* missed */
}

/* Only these pointers lead to the functions. */
static NOINLINE ULONG First(void)
{
    return 1;                           /* missed */
}

static NOINLINE ULONG Second(void)
{
    return 2;                           /* hit */
}

static ULONG (*volatile Pointers[])(void) = {First, Second};

static NOINLINE VOID Touch(volatile UCHAR *Address)
{
    Sink = *Address;                    /* hit */
    Sink += 4;                          /* missed */
}

static NOINLINE ULONG Guarded(void)
{
    ULONG result = 0;                   /* hit */

    __try {
        Touch((volatile UCHAR *)16);    /* hit */
        result = 1;                     /* missed */
    } __except (1) {
        result = 2;                     /* hit */
    }
    __try {
        Sink += result;                 /* hit */
    } __finally {
        Sink -= 1;                      /* hit */
    }
    return result;                      /* hit */
}

static NOINLINE VOID Together(void)
{
    LONG count = 0;                     /* hit */

    for (LONG index = 0; index < 100; index++) { /* hit */
        if (index % 3 == 0) {           /* hit */
            count += index;             /* hit */
        } else if (index == 1000) {
            count = 0;                  /* missed */
        }
    }
    Sink = count;                       /* hit */
}

static VOID NTAPI Thread(PVOID Context)
{
    (void)Context;
    KeWaitForSingleObject(&Start, 0, 0, FALSE, NULL); /* hit */
    Together();                         /* hit */
    __atomic_fetch_add(&Finished, 1, __ATOMIC_SEQ_CST); /* hit */
    PsTerminateSystemThread(0);         /* hit */
}

/* Runs the same code on several threads at the same time. */
static NOINLINE NTSTATUS Parallel(void)
{
    PVOID threads[THREADS];

    KeInitializeEvent(&Start, NotificationEvent, FALSE);    /* hit */
    for (ULONG index = 0; index < THREADS; index++) {
        HANDLE handle;
        NTSTATUS status = PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Thread, NULL);
        if (status < 0) {
            return status;              /* missed */
        }
        ObReferenceObjectByHandle(handle, 0, NULL, 0, &threads[index], NULL);
        ZwClose(handle);                /* hit */
    }
    KeSetEvent(&Start, 0, FALSE);       /* hit */
    for (ULONG index = 0; index < THREADS; index++) {
        KeWaitForSingleObject(threads[index], 0, 0, FALSE, NULL);   /* hit */
        ObfDereferenceObject(threads[index]);
    }
    return Finished == THREADS ? 0 : STATUS_UNSUCCESSFUL;  /* hit */
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    NTSTATUS status = 0;

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);       /* hit */
    }
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case 0x222000:
        Sink = Branch(3) + Select(2) + Select(99);  /* hit */
        break;
    case 0x222004:
        status = Guarded() == 2 ? 0 : STATUS_UNSUCCESSFUL; /* hit */
        Sink = Pointers[1]();           /* hit */
        break;
    case 0x222008:
        status = Parallel();            /* hit */
        break;
    case 0x22200C:
        Sink = Never(5) + Pointers[0]();    /* missed */
        break;                          /* missed */
    case 0x222010:
        __debugbreak();
        break;                          /* missed */
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;    /* missed */
    }
    return Finish(Irp, status, 0);      /* hit */
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);  /* hit */
    IoDeleteSymbolicLink(&link);        /* hit */
    IoDeleteDevice(Driver->DeviceObject);   /* hit */
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name, link;
    PDEVICE_OBJECT device;
    NTSTATUS status;

    (void)Path;
    Driver->MajorFunction[IRP_MJ_CREATE] = Driver->MajorFunction[IRP_MJ_CLEANUP] = Driver->MajorFunction[IRP_MJ_CLOSE] =
        Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Dispatch;
    Driver->DriverUnload = Unload;      /* hit */
    RtlInitUnicodeString(&name, DeviceName);
    RtlInitUnicodeString(&link, LinkName);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;                  /* missed */
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;   /* hit */
    return IoCreateSymbolicLink(&link, &name);  /* hit */
}
