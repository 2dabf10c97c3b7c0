/* What a framework and its clients pass to WDFLDR.SYS. */
#pragma once

#include "plain.h"

typedef struct {
    ULONG Size;
    PCWSTR Component;
    ULONG Version[3];
    ULONG FunctionCount;
    PVOID *Functions;
    PVOID Module;
} BIND_INFO;

typedef struct {
    ULONG Size;
    PUNICODE_STRING RegistryPath;
    PDRIVER_OBJECT DriverObject;
} CLIENT_INFO;

typedef struct {
    ULONG Size;
    NTSTATUS (*Commission)(void);
    NTSTATUS (*Decommission)(void);
    NTSTATUS (*RegisterClient)(BIND_INFO *Info, PVOID *Globals, CLIENT_INFO **Context);
    NTSTATUS (*UnregisterClient)(BIND_INFO *Info, PVOID Globals);
    ULONG Version[3];
} LIBRARY_INFO;

typedef struct {
    ULONG Size;
    PCWSTR ClassName;
    ULONG Version[3];
    PVOID *Functions;
    ULONG FunctionCount;
    PVOID ClassBindInfo;
    PVOID Bind;
    PVOID Unbind;
    PVOID Module;
} CLASS_BIND_INFO;

typedef struct {
    ULONG Size;
    ULONG Version[3];
    NTSTATUS (*Initialize)(void);
    void (*Deinitialize)(void);
    NTSTATUS (*BindClient)(CLASS_BIND_INFO *Info, PVOID Globals);
    void (*UnbindClient)(CLASS_BIND_INFO *Info, PVOID Globals);
} CLASS_LIBRARY_INFO;

_Static_assert(sizeof(BIND_INFO) == 0x30 && sizeof(CLIENT_INFO) == 0x18 && sizeof(LIBRARY_INFO) == 0x38, "sizes");
_Static_assert(sizeof(CLASS_BIND_INFO) == 0x50 && sizeof(CLASS_LIBRARY_INFO) == 0x30, "sizes of a class");

NTSTATUS WdfVersionBind(PDRIVER_OBJECT Driver, PUNICODE_STRING Path, BIND_INFO *Info, PVOID *Globals);
NTSTATUS WdfVersionUnbind(PUNICODE_STRING Path, BIND_INFO *Info, PVOID Globals);
NTSTATUS WdfVersionBindClass(BIND_INFO *Info, PVOID Globals, CLASS_BIND_INFO *Class);
void WdfVersionUnbindClass(BIND_INFO *Info, PVOID Globals, CLASS_BIND_INFO *Class);
NTSTATUS WdfRegisterLibrary(LIBRARY_INFO *Info, PUNICODE_STRING Service, PUNICODE_STRING Device);
NTSTATUS WdfRegisterClassLibrary(CLASS_LIBRARY_INFO *Info, PUNICODE_STRING Service, PUNICODE_STRING Device);
NTSTATUS WdfLdrDiagnosticsValueByNameAsULONG(PUNICODE_STRING Name, ULONG *Value);

/* The functions of the small framework and of its class extension. */
typedef ULONG (*FUNCTION)(PVOID Globals, ULONG Number);
typedef void (*CALLBACK)(PVOID Context);
typedef void (*CALLER)(PVOID Globals, CALLBACK Callback);
