/* A layer that many drivers could share. It is in a separate folder, and it is inlined. */
#pragma once

#include <ntddk.h>

static __forceinline PVOID LayerAllocate(SIZE_T Size)
{
    return ExAllocatePool2(0x40, Size, 'tseT'); /* mark layer */
}
