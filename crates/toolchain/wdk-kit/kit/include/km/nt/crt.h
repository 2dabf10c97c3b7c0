/* C runtime functions that ntoskrnl.exe exports and that Microsoft's bindings do not have. */
#pragma once

NTSYSAPI int __cdecl _snprintf(char *Buffer, size_t Count, const char *Format, ...);
NTSYSAPI int __cdecl _snwprintf(wchar_t *Buffer, size_t Count, const wchar_t *Format, ...);
NTSYSAPI int __cdecl _vsnprintf(char *Buffer, size_t Count, const char *Format, va_list Arguments);
NTSYSAPI int __cdecl _vsnwprintf(wchar_t *Buffer, size_t Count, const wchar_t *Format, va_list Arguments);
NTSYSAPI int __cdecl sprintf(char *Buffer, const char *Format, ...);
NTSYSAPI int __cdecl vsprintf(char *Buffer, const char *Format, va_list Arguments);
NTSYSAPI int __cdecl sprintf_s(char *Buffer, size_t Size, const char *Format, ...);
NTSYSAPI int __cdecl vsprintf_s(char *Buffer, size_t Size, const char *Format, va_list Arguments);
NTSYSAPI int __cdecl swprintf_s(wchar_t *Buffer, size_t Size, const wchar_t *Format, ...);
NTSYSAPI int __cdecl vswprintf_s(wchar_t *Buffer, size_t Size, const wchar_t *Format, va_list Arguments);
NTSYSAPI int __cdecl _snprintf_s(char *Buffer, size_t Size, size_t Count, const char *Format, ...);
NTSYSAPI int __cdecl _snwprintf_s(wchar_t *Buffer, size_t Size, size_t Count, const wchar_t *Format, ...);
NTSYSAPI int __cdecl _vsnprintf_s(char *Buffer, size_t Size, size_t Count, const char *Format, va_list Arguments);
NTSYSAPI int __cdecl _vsnwprintf_s(wchar_t *Buffer, size_t Size, size_t Count, const wchar_t *Format, va_list Arguments);
NTSYSAPI int __cdecl atoi(const char *Text);
NTSYSAPI long __cdecl atol(const char *Text);
NTSYSAPI int __cdecl _wtoi(const wchar_t *Text);
NTSYSAPI long __cdecl _wtol(const wchar_t *Text);
NTSYSAPI unsigned long __cdecl wcstoul(const wchar_t *Text, wchar_t **End, int Base);
NTSYSAPI size_t __cdecl mbstowcs(wchar_t *Target, const char *Source, size_t Count);
NTSYSAPI size_t __cdecl wcstombs(char *Target, const wchar_t *Source, size_t Count);
NTSYSAPI int __cdecl rand(void);
NTSYSAPI void __cdecl srand(unsigned int Seed);
NTSYSAPI void __cdecl qsort(void *Base, size_t Count, size_t Size, int(__cdecl *Compare)(const void *, const void *));
NTSYSAPI void *__cdecl bsearch(const void *Key, const void *Base, size_t Count, size_t Size, int(__cdecl *Compare)(const void *, const void *));
