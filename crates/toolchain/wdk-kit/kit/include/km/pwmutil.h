/* Pulse-width modulation, for C code of controllers' drivers: from Microsoft's documentation of pwmutil.h. */
#pragma once

#include "wdm.h"

#if !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES)
/* The path of pin 5 is `\5`. */
FORCEINLINE NTSTATUS PwmParsePinPath(UNICODE_STRING *PinPath, ULONG *PinNumber) {
    ULONG number = 0;
    USHORT count, i;
    if (!PinPath || !PinPath->Buffer || PinPath->Length % sizeof(WCHAR) || PinPath->Length > PinPath->MaximumLength)
        return STATUS_INVALID_PARAMETER;
    count = PinPath->Length / sizeof(WCHAR);
    if (count < 2 || PinPath->Buffer[0] != L'\\')
        return STATUS_NO_SUCH_FILE;
    for (i = 1; i < count; i++) {
        if (PinPath->Buffer[i] < L'0' || PinPath->Buffer[i] > L'9')
            return STATUS_NO_SUCH_FILE;
        number = number * 10 + (PinPath->Buffer[i] - L'0');
    }
    if (PinNumber)
        *PinNumber = number;
    return STATUS_SUCCESS;
}
#endif
