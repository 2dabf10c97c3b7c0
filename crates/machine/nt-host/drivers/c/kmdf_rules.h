/* Shared code of the KMDF drivers that break Microsoft's rules. The parameter Rule of the service has the name of a rule.
   With the parameter Broken the driver breaks it; without, it does the same correctly. */
#pragma once

#include "framework.h"

/* Calls any framework function, whether the kit has its type or not. */
typedef ULONG64(NTAPI *ANY)();
#define FX(name, ...) ((ANY)WdfFunctions_01033[name##TableIndex])(WdfDriverGlobals, ##__VA_ARGS__)

static WCHAR Rule[64];
static ULONG Broken;

static inline BOOLEAN Is(PCWSTR Name)
{
    ULONG index = 0;

    while (Name[index] != 0 && Name[index] == Rule[index]) {
        index++;
    }
    return Name[index] == Rule[index];
}

/* Reads a value of the key Parameters into the buffer. */
static void ReadParameter(PUNICODE_STRING Path, PWSTR Name, PVOID Buffer, ULONG Size)
{
    static WCHAR key[256];
    static UCHAR space[256];
    PKEY_VALUE_PARTIAL_INFORMATION value = (PKEY_VALUE_PARTIAL_INFORMATION)space;
    UNICODE_STRING text = {0, sizeof(key), key}, name;
    OBJECT_ATTRIBUTES attributes = {sizeof(attributes), NULL, &text, 0x240, NULL, NULL};
    HANDLE handle;
    ULONG length;

    RtlCopyUnicodeString(&text, Path);
    RtlAppendUnicodeToString(&text, L"\\Parameters");
    if (ZwOpenKey(&handle, 0x20019, &attributes) < 0) {
        return;
    }
    RtlInitUnicodeString(&name, Name);
    if (ZwQueryValueKey(handle, &name, 2, value, sizeof(space), &length) >= 0 && value->DataLength <= Size) {
        __builtin_memcpy(Buffer, value->Data, value->DataLength);
    }
    ZwClose(handle);
}

static void ReadRule(PUNICODE_STRING Path)
{
    ReadParameter(Path, L"Rule", Rule, sizeof(Rule) - sizeof(WCHAR));
    ReadParameter(Path, L"Broken", &Broken, sizeof(Broken));
}
