/* Shared code of the drivers that run a list of steps. Each step returns 0, a status, or the number of the line that
   found something wrong. */
#pragma once

#include "plain.h"

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

static PVOID LookUp(PWSTR Name)
{
    UNICODE_STRING name;

    RtlInitUnicodeString(&name, Name);
    return MmGetSystemRoutineAddress(&name);
}

/* Calls a routine that the kit's import library does not have. */
#define CALL(type, name, ...) ((type)LookUp(L##name))(__VA_ARGS__)
typedef ULONG64(NTAPI *ANY)();
