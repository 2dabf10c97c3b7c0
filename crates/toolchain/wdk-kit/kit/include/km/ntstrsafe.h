/* String functions that never write beyond their destination and always terminate it.
 *
 * Written from Microsoft's documentation. The names with Cb count bytes, those with Cch characters; both are made from one definition. */
#pragma once

#include "wdm.h"

#define NTSTRSAFE_MAX_CCH 2147483647
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH 32767

typedef char *NTSTRSAFE_PSTR;
typedef const char *NTSTRSAFE_PCSTR;
typedef wchar_t *NTSTRSAFE_PWSTR;
typedef const wchar_t *NTSTRSAFE_PCWSTR;

#if !defined(WDK_KIT_NO_ROUTINES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES)
#define WDK_KIT_INVALID ((NTSTATUS)0xC000000DL)  /* STATUS_INVALID_PARAMETER */
#define WDK_KIT_OVERFLOW ((NTSTATUS)0x80000005L) /* STATUS_BUFFER_OVERFLOW */

/* Functions for one kind of character. Count is the size of the destination in characters, Most the greatest number of characters to copy. */
#define WDK_KIT_STRINGS(Suffix, Char, Format, Scale) \
    FORCEINLINE NTSTATUS WdkKitLength##Suffix(const Char *Text, size_t Count, size_t *Length) { \
        size_t Index = 0; \
        while (Text != NULL && Index < Count && Text[Index] != 0) { \
            Index++; \
        } \
        if (Length != NULL) { \
            *Length = Text != NULL && Index < Count ? Index : 0; \
        } \
        return Text != NULL && Count <= NTSTRSAFE_MAX_CCH && Index < Count ? 0 : WDK_KIT_INVALID; \
    } \
    FORCEINLINE NTSTATUS WdkKitCopy##Suffix(Char *To, size_t Count, const Char *Text, size_t Most) { \
        if (Count == 0 || Count > NTSTRSAFE_MAX_CCH) { \
            return WDK_KIT_INVALID; \
        } \
        for (; Most != 0 && *Text != 0; To++, Text++, Count--, Most--) { \
            if (Count == 1) { \
                *To = 0; \
                return WDK_KIT_OVERFLOW; \
            } \
            *To = *Text; \
        } \
        *To = 0; \
        return 0; \
    } \
    FORCEINLINE NTSTATUS WdkKitCat##Suffix(Char *To, size_t Count, const Char *Text, size_t Most) { \
        size_t Length; \
        NTSTATUS Status = WdkKitLength##Suffix(To, Count, &Length); \
        return Status < 0 ? Status : WdkKitCopy##Suffix(To + Length, Count - Length, Text, Most); \
    } \
    FORCEINLINE NTSTATUS WdkKitPrint##Suffix(Char *To, size_t Count, const Char *Text, __builtin_va_list Values) { \
        int Written; \
        if (Count == 0 || Count > NTSTRSAFE_MAX_CCH) { \
            return WDK_KIT_INVALID; \
        } \
        Written = Format(To, Count - 1, Text, Values); \
        if (Written < 0 || (size_t)Written > Count - 1) { \
            To[Count - 1] = 0; \
            return WDK_KIT_OVERFLOW; \
        } \
        To[Written] = 0; \
        return 0; \
    } \
    WDK_KIT_COUNTED(Cch, Suffix, Char, 1) \
    WDK_KIT_COUNTED(Cb, Suffix, Char, Scale)

#define WDK_KIT_COUNTED(Unit, Suffix, Char, Scale) \
    FORCEINLINE NTSTATUS RtlString##Unit##Length##Suffix(const Char *Text, size_t Size, size_t *Length) { \
        NTSTATUS Status = WdkKitLength##Suffix(Text, Size / Scale, Length); \
        if (Length != NULL) { \
            *Length *= Scale; \
        } \
        return Status; \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##Copy##Suffix(Char *To, size_t Size, const Char *Text) { \
        return WdkKitCopy##Suffix(To, Size / Scale, Text, NTSTRSAFE_MAX_CCH); \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##CopyN##Suffix(Char *To, size_t Size, const Char *Text, size_t Most) { \
        return WdkKitCopy##Suffix(To, Size / Scale, Text, Most / Scale); \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##Cat##Suffix(Char *To, size_t Size, const Char *Text) { \
        return WdkKitCat##Suffix(To, Size / Scale, Text, NTSTRSAFE_MAX_CCH); \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##CatN##Suffix(Char *To, size_t Size, const Char *Text, size_t Most) { \
        return WdkKitCat##Suffix(To, Size / Scale, Text, Most / Scale); \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##VPrintf##Suffix(Char *To, size_t Size, const Char *Text, __builtin_va_list Values) { \
        return WdkKitPrint##Suffix(To, Size / Scale, Text, Values); \
    } \
    FORCEINLINE NTSTATUS RtlString##Unit##Printf##Suffix(Char *To, size_t Size, const Char *Text, ...) { \
        __builtin_va_list Values; \
        NTSTATUS Status; \
        __builtin_va_start(Values, Text); \
        Status = WdkKitPrint##Suffix(To, Size / Scale, Text, Values); \
        __builtin_va_end(Values); \
        return Status; \
    }

WDK_KIT_STRINGS(A, char, _vsnprintf, 1)
WDK_KIT_STRINGS(W, wchar_t, _vsnwprintf, sizeof(wchar_t))

/* A UNICODE_STRING need not be terminated: its length tells where it ends. */
FORCEINLINE NTSTATUS WdkKitAppend(PUNICODE_STRING To, const wchar_t *Text, size_t Count) {
    size_t Room = (To->MaximumLength - To->Length) / sizeof(wchar_t);
    size_t Copied = Count < Room ? Count : Room;
    RtlMoveMemory((PUCHAR)To->Buffer + To->Length, Text, Copied * sizeof(wchar_t));
    To->Length = (USHORT)(To->Length + Copied * sizeof(wchar_t));
    return Copied == Count ? 0 : WDK_KIT_OVERFLOW;
}

FORCEINLINE size_t WdkKitCount(const wchar_t *Text) {
    size_t Length = 0;
    return WdkKitLengthW(Text, NTSTRSAFE_UNICODE_STRING_MAX_CCH, &Length) < 0 ? 0 : Length;
}

FORCEINLINE NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING To, const wchar_t *Text) {
    To->Length = 0;
    return WdkKitAppend(To, Text, WdkKitCount(Text));
}

FORCEINLINE NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING To, PCUNICODE_STRING From) {
    To->Length = 0;
    return WdkKitAppend(To, From->Buffer, From->Length / sizeof(wchar_t));
}

FORCEINLINE NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING To, const wchar_t *Text) { return WdkKitAppend(To, Text, WdkKitCount(Text)); }

FORCEINLINE NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING To, PCUNICODE_STRING From) {
    return WdkKitAppend(To, From->Buffer, From->Length / sizeof(wchar_t));
}

FORCEINLINE NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING To, const wchar_t *Text, __builtin_va_list Values) {
    size_t Room = To->MaximumLength / sizeof(wchar_t);
    int Written = _vsnwprintf(To->Buffer, Room, Text, Values);
    To->Length = (USHORT)((Written < 0 ? Room : (size_t)Written) * sizeof(wchar_t));
    return Written < 0 ? WDK_KIT_OVERFLOW : 0;
}

FORCEINLINE NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING To, const wchar_t *Text, ...) {
    __builtin_va_list Values;
    NTSTATUS Status;
    __builtin_va_start(Values, Text);
    Status = RtlUnicodeStringVPrintf(To, Text, Values);
    __builtin_va_end(Values);
    return Status;
}

FORCEINLINE NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING To, const wchar_t *Text) {
    size_t Count = WdkKitCount(Text);
    To->Length = (USHORT)(Count * sizeof(wchar_t));
    To->MaximumLength = (USHORT)(Text == NULL ? 0 : To->Length + sizeof(wchar_t));
    To->Buffer = (wchar_t *)Text;
    return 0;
}
#endif
