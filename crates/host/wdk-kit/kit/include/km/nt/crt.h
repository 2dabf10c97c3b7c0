/* The part of the C runtime that ntoskrnl.exe exports. Compilers call the memory routines by themselves. */
#pragma once

NTSYSAPI int __cdecl memcmp(const void *Buffer1, const void *Buffer2, size_t Size);
NTSYSAPI void *__cdecl memcpy(void *Destination, const void *Source, size_t Size);
NTSYSAPI void *__cdecl memmove(void *Destination, const void *Source, size_t Size);
NTSYSAPI void *__cdecl memset(void *Destination, int Value, size_t Size);
NTSYSAPI void *__cdecl memchr(const void *Buffer, int Value, size_t MaxCount);
NTSYSAPI size_t __cdecl strlen(const char *String);
NTSYSAPI size_t __cdecl strnlen(const char *String, size_t MaxCount);
NTSYSAPI int __cdecl strcmp(const char *String1, const char *String2);
NTSYSAPI int __cdecl strncmp(const char *String1, const char *String2, size_t MaxCount);
NTSYSAPI char *__cdecl strchr(const char *String, int Value);
NTSYSAPI char *__cdecl strstr(const char *String, const char *SubString);
NTSYSAPI size_t __cdecl wcslen(const wchar_t *String);
NTSYSAPI size_t __cdecl wcsnlen(const wchar_t *String, size_t MaxCount);
NTSYSAPI int __cdecl wcscmp(const wchar_t *String1, const wchar_t *String2);
NTSYSAPI int __cdecl wcsncmp(const wchar_t *String1, const wchar_t *String2, size_t MaxCount);
NTSYSAPI wchar_t *__cdecl wcschr(const wchar_t *String, wchar_t Value);
NTSYSAPI wchar_t *__cdecl wcsstr(const wchar_t *String, const wchar_t *SubString);
NTSYSAPI int __cdecl _stricmp(const char *String1, const char *String2);
NTSYSAPI int __cdecl _wcsicmp(const wchar_t *String1, const wchar_t *String2);
NTSYSAPI int __cdecl _wcsnicmp(const wchar_t *String1, const wchar_t *String2, size_t MaxCount);
NTSYSAPI int __cdecl _snprintf(char *Buffer, size_t Count, const char *Format, ...);
NTSYSAPI int __cdecl _snwprintf(wchar_t *Buffer, size_t Count, const wchar_t *Format, ...);
