/* A client of small_framework.c. BUG is the minor version that it needs; 0 stands for 9. */
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

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    WdfVersionUnbindClass(&Bind, Globals, &Class);
    WdfVersionUnbind(&NoPath, &Bind, Globals);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status = WdfVersionBind(Driver, Path, &Bind, &Globals);
    if (status < 0)
        return status;
    status = WdfVersionBindClass(&Bind, Globals, &Class);
    LOG("client: class %08x\n", status);
    LOG("client: %u %u\n", ((FUNCTION)Functions[COUNT - 1])(Globals, 21), ((FUNCTION)ClassFunctions[0])(Globals, 21));
    ((CALLER)ClassFunctions[1])(Globals, Called);
    Driver->DriverUnload = Unload;
    return status;
}
