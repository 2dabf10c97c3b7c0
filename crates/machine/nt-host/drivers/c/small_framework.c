/* A framework with one function, of version 1.9, and a class extension with two others. BUG 1 registers neither; BUG 2 calls
   its client back at DISPATCH_LEVEL, BUG 3 under a spin lock of its own. */
#include "small_framework.h"

#define COUNT 396

static ULONG Clients;

static ULONG Double(PVOID Globals, ULONG Number)
{
    (void)Globals;
    return 2 * Number;
}

static ULONG Triple(PVOID Globals, ULONG Number)
{
    (void)Globals;
    return 3 * Number;
}

static KSPIN_LOCK Lock;

static void Call(PVOID Globals, CALLBACK Callback)
{
    KIRQL before = BUG == 2 ? KfRaiseIrql(2) : 0;
    if (BUG == 3)
        before = KeAcquireSpinLockRaiseToDpc(&Lock);
    Callback(Globals);
    if (BUG == 2)
        KeLowerIrql(before);
    if (BUG == 3)
        KeReleaseSpinLock(&Lock, before);
}

static NTSTATUS Commission(void)
{
    LOG("framework: commission\n");
    return 0;
}

static NTSTATUS Decommission(void)
{
    LOG("framework: decommission, %u clients\n", Clients);
    return 0;
}

static NTSTATUS RegisterClient(BIND_INFO *Info, PVOID *Globals, CLIENT_INFO **Context)
{
    CLIENT_INFO *client = *Context;
    LOG("framework: client %wZ, %wZ\n", client->RegistryPath, &client->DriverObject->DriverName);
    if (Info->Version[1] > 9)
        return STATUS_OBJECT_TYPE_MISMATCH; /* STATUS_OBJECT_TYPE_MISMATCH */
    for (ULONG index = 0; index < Info->FunctionCount; index++)
        Info->Functions[index] = (PVOID)Double;
    *Globals = &Clients;
    Clients++;
    return 0;
}

static NTSTATUS UnregisterClient(BIND_INFO *Info, PVOID Globals)
{
    (void)Info, (void)Globals;
    LOG("framework: client gone\n");
    Clients--;
    return 0;
}

static NTSTATUS BindClass(CLASS_BIND_INFO *Info, PVOID Globals)
{
    LOG("framework: class %ls, globals %u\n", Info->ClassName, Globals == &Clients);
    Info->Functions[0] = (PVOID)Triple;
    Info->Functions[1] = (PVOID)Call;
    return 0;
}

static void UnbindClass(CLASS_BIND_INFO *Info, PVOID Globals)
{
    (void)Globals;
    LOG("framework: class %ls gone\n", Info->ClassName);
}

static LIBRARY_INFO Library = {sizeof(Library), Commission, Decommission, RegisterClient, UnregisterClient, {1, 9, 7600}};
static CLASS_LIBRARY_INFO Class = {sizeof(Class), {1, 0, 0}, NULL, NULL, BindClass, UnbindClass};

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    LOG("framework: unload\n");
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    ULONG value;
    Driver->DriverUnload = Unload;
    RtlInitUnicodeString(&name, L"DbgPrintOn");
    NTSTATUS status = WdfLdrDiagnosticsValueByNameAsULONG(&name, &value);
    LOG("framework: entry, diagnostics %08x %u\n", status, value);
#if BUG != 1
    RtlInitUnicodeString(&name, L"\\Device\\Small");
    status = WdfRegisterLibrary(&Library, Path, &name);
    if (status >= 0)
        status = WdfRegisterClassLibrary(&Class, Path, &name);
    return status;
#else
    (void)Path, (void)Library, (void)Class;
    return 0;
#endif
}
