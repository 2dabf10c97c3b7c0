/* A layer that many drivers would share: it is in a folder of its own, and inlined. */
#pragma once

#include <ntddk.h>

static __forceinline PVOID LayerAllocate(SIZE_T Size)
{
    return ExAllocatePool2(0x40, Size, 'tseT'); /* mark layer */
}
