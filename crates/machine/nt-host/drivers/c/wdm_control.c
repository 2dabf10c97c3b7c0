/* A WDM driver like those of tools: control devices with names and links, no AddDevice. It logs its requests. */

#include "plain.h"

static WCHAR DeviceName[] = L"\\Device\\CControl";
static WCHAR LinkName[] = L"\\DosDevices\\CControl";
static WCHAR ExclusiveName[] = L"\\Device\\CExclusive";
static WCHAR ExclusiveLink[] = L"\\??\\CExclusive";
static ULONG Handles;

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    PFILE_OBJECT file = location->FileObject;
    UCHAR *bytes = Irp->AssociatedIrp.SystemBuffer;
    ULONG length, index;

    switch (location->MajorFunction) {
    case IRP_MJ_CREATE:
        if (file->FileName.Length == 10) {
            return Finish(Irp, STATUS_ACCESS_DENIED, 0);
        }
        /* The request comes from user mode. Its security context has the desired access. */
        if (Irp->RequestorMode != 1 || (*(ULONG **)&location->Parameters)[4] != 0x12019F) {
            return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
        }
        Handles++;
        file->FsContext = (PVOID)(ULONG_PTR)Handles;
        DbgPrint("create %u '%wZ', %d references\n", Handles, &file->FileName, Device->ReferenceCount);
        return Finish(Irp, 0, 0);
    case IRP_MJ_CLEANUP:
        DbgPrint("cleanup %u\n", (ULONG)(ULONG_PTR)file->FsContext);
        return Finish(Irp, 0, 0);
    case IRP_MJ_CLOSE:
        DbgPrint("close %u\n", (ULONG)(ULONG_PTR)file->FsContext);
        return Finish(Irp, 0, 0);
    case IRP_MJ_READ:
        length = location->Parameters.Read.Length;
        for (index = 0; index < length; index++) {
            bytes[index] = (UCHAR)(ULONG_PTR)file->FsContext;
        }
        return Finish(Irp, 0, length);
    case IRP_MJ_WRITE:
        length = location->Parameters.Write.Length;
        DbgPrint("write %u of %u\n", length, bytes[0]);
        return Finish(Irp, 0, length);
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        DbgPrint("control %x of %u, thread %d\n", location->Parameters.DeviceIoControl.IoControlCode, location->MajorFunction,
                 Irp->Tail.Overlay.Thread == (PVOID)KeGetCurrentThread());
        return Finish(Irp, 0, 0);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);
    IoDeleteSymbolicLink(&link);
    RtlInitUnicodeString(&link, ExclusiveLink);
    IoDeleteSymbolicLink(&link);
    while (Driver->DeviceObject != NULL) {
        IoDeleteDevice(Driver->DeviceObject);
    }
}

static NTSTATUS Create(PDRIVER_OBJECT Driver, PWSTR Name, PWSTR Link, BOOLEAN Exclusive)
{
    UNICODE_STRING name, link;
    PDEVICE_OBJECT device;
    NTSTATUS status;

    RtlInitUnicodeString(&name, Name);
    RtlInitUnicodeString(&link, Link);
    status = IoCreateDevice(Driver, 8, &name, FILE_DEVICE_UNKNOWN, 0, Exclusive, &device);
    if (status < 0) {
        return status;
    }
    /* DO_DEVICE_HAS_NAME, and the device object extension, which points back to the device. */
    if ((device->Flags & 0x40) == 0 || device->DeviceObjectExtension == NULL ||
        device->DeviceObjectExtension->DeviceObject != device) {
        return STATUS_UNSUCCESSFUL;
    }
    device->Flags |= DO_BUFFERED_IO;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return IoCreateSymbolicLink(&link, &name);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ULONG index;
    NTSTATUS status;

    (void)Path;
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    Driver->DriverUnload = Unload;
    status = Create(Driver, DeviceName, LinkName, FALSE);
    if (status >= 0) {
        status = Create(Driver, ExclusiveName, ExclusiveLink, TRUE);
    }
    if (status < 0) {
        Unload(Driver);
    }
    return status;
}
