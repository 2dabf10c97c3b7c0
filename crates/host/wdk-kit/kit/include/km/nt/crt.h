/* C runtime functions that ntoskrnl.exe exports and that Microsoft's bindings do not have. */
#pragma once

NTSYSAPI int __cdecl _snprintf(char *Buffer, size_t Count, const char *Format, ...);
NTSYSAPI int __cdecl _snwprintf(wchar_t *Buffer, size_t Count, const wchar_t *Format, ...);
NTSYSAPI int __cdecl _vsnprintf(char *Buffer, size_t Count, const char *Format, va_list Arguments);
NTSYSAPI int __cdecl _vsnwprintf(wchar_t *Buffer, size_t Count, const wchar_t *Format, va_list Arguments);
