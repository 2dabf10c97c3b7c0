/* A client of small_framework.c. BUG is the minor version that it needs; 0 stands for 9. It completes the requests to its
   device in a callback of the framework. */
#include "small_framework.h"

#define COUNT 396

static PVOID Functions[COUNT], ClassFunctions[2], Globals;
static ULONG Calls;
static BIND_INFO Bind = {sizeof(Bind), L"KmdfLibrary", {1, BUG ? BUG : 9, 0}, COUNT, Functions, NULL};
static CLASS_BIND_INFO Class = {sizeof(Class), L"Small", {1, 0, 0}, ClassFunctions, 2};
static UNICODE_STRING NoPath;

static void Called(PVOID Context)
{
    (void)Context;
    Calls++;
}

static PIRP Request;

static void Complete(PVOID Context)
{
    (void)Context;
    Finish(Request, 0, 0);
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    Request = Irp;
    ((CALLER)ClassFunctions[1])(Globals, Complete);
    return 0;
}

static void Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
    WdfVersionUnbindClass(&Bind, Globals, &Class);
    WdfVersionUnbind(&NoPath, &Bind, Globals);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    NTSTATUS status = WdfVersionBind(Driver, Path, &Bind, &Globals);
    if (status < 0)
        return status;
    status = WdfVersionBindClass(&Bind, Globals, &Class);
    LOG("client: class %08x\n", status);
    LOG("client: %u %u\n", ((FUNCTION)Functions[COUNT - 1])(Globals, 21), ((FUNCTION)ClassFunctions[0])(Globals, 21));
    ((CALLER)ClassFunctions[1])(Globals, Called);
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = Dispatch;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Dispatch;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Dispatch;
    RtlInitUnicodeString(&name, L"\\Device\\CSmall");
    return status < 0 ? status : IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}
