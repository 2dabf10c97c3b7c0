/* A loader for small_framework.c, in place of Microsoft's WDFLDR.SYS: an export driver. BUG 1 does not export WdfRegisterLibrary. */
#define WdfVersionBind ImportedBind
#define WdfVersionUnbind ImportedUnbind
#define WdfVersionBindClass ImportedBindClass
#define WdfVersionUnbindClass ImportedUnbindClass
#define WdfRegisterLibrary ImportedRegister
#define WdfRegisterClassLibrary ImportedRegisterClass
#define WdfLdrDiagnosticsValueByNameAsULONG ImportedDiagnostics
#include "small_framework.h"
#undef WdfVersionBind
#undef WdfVersionUnbind
#undef WdfVersionBindClass
#undef WdfVersionUnbindClass
#undef WdfRegisterLibrary
#undef WdfRegisterClassLibrary
#undef WdfLdrDiagnosticsValueByNameAsULONG

#define EXPORTED __declspec(dllexport)

static LIBRARY_INFO *Library;
static CLASS_LIBRARY_INFO *Classes;

EXPORTED NTSTATUS DllInitialize(PUNICODE_STRING Path)
{
    (void)Path;
    LOG("loader: initialize\n");
    return 0;
}

EXPORTED NTSTATUS DllUnload(void)
{
    LOG("loader: free\n");
    return 0;
}

#if BUG != 1
EXPORTED NTSTATUS WdfRegisterLibrary(LIBRARY_INFO *Info, PUNICODE_STRING Service, PUNICODE_STRING Device)
{
    LOG("loader: library %wZ, %wZ\n", Service, Device);
    Library = Info;
    return Info->Commission();
}
#endif

EXPORTED NTSTATUS WdfRegisterClassLibrary(CLASS_LIBRARY_INFO *Info, PUNICODE_STRING Service, PUNICODE_STRING Device)
{
    (void)Service, (void)Device;
    Classes = Info;
    return 0;
}

EXPORTED NTSTATUS WdfVersionBind(PDRIVER_OBJECT Driver, PUNICODE_STRING Path, BIND_INFO *Info, PVOID *Globals)
{
    CLIENT_INFO client = {sizeof(client), Path, Driver}, *place = &client;
    return Library->RegisterClient(Info, Globals, &place);
}

EXPORTED NTSTATUS WdfVersionUnbind(PUNICODE_STRING Path, BIND_INFO *Info, PVOID Globals)
{
    (void)Path;
    NTSTATUS status = Library->UnregisterClient(Info, Globals);
    Library->Decommission();
    return status;
}

EXPORTED NTSTATUS WdfVersionBindClass(BIND_INFO *Info, PVOID Globals, CLASS_BIND_INFO *Class)
{
    (void)Info;
    return Classes->BindClient(Class, Globals);
}

EXPORTED void WdfVersionUnbindClass(BIND_INFO *Info, PVOID Globals, CLASS_BIND_INFO *Class)
{
    (void)Info;
    Classes->UnbindClient(Class, Globals);
}

/* Returns the service of the framework, as the loader of Windows would find it, as a number of characters. */
EXPORTED NTSTATUS WdfLdrDiagnosticsValueByNameAsULONG(PUNICODE_STRING Name, ULONG *Value)
{
    UCHAR value[64];
    ULONG length;
    HANDLE key;
    UNICODE_STRING path, service;
    OBJECT_ATTRIBUTES attributes = {sizeof(attributes), NULL, &path, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE};
    (void)Name;
    RtlInitUnicodeString(&path, L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\Wdf\\Kmdf\\KmdfLibrary\\Versions\\1");
    RtlInitUnicodeString(&service, L"Service");
    NTSTATUS status = ZwOpenKey(&key, KEY_READ, &attributes);
    if (status < 0)
        return status;
    status = ZwQueryValueKey(key, &service, KeyValuePartialInformation, value, sizeof(value), &length);
    ZwClose(key);
    LOG("loader: service %ls\n", (PCWSTR)&value[12]);
    *Value = 1;
    return status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Driver, (void)Path;
    LOG("loader: entry\n");
    return STATUS_UNSUCCESSFUL;
}
