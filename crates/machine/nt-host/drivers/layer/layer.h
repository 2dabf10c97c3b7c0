/* An inlined layer in a separate folder, like one that several drivers share. */
#pragma once

#include <ntddk.h>

static __forceinline PVOID LayerAllocate(SIZE_T Size)
{
    return ExAllocatePool2(0x40, Size, 'tseT'); /* mark layer */
}
