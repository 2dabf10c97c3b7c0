/* The base types of Windows code: integers, strings, lists, handles, identifiers.
 *
 * Written from public documentation; checked against Microsoft's metadata by tests/builds/layouts.rs.
 * Both targets are 64-bit with the same integer widths, so nothing here depends on the processor. */
#pragma once

#include "sal.h"

#define NTAPI __stdcall
#define FASTCALL __fastcall
#define CDECL __cdecl
#define NTKERNELAPI
#define NTSYSAPI
#define NTHALAPI
#define FORCEINLINE __forceinline
#ifdef __cplusplus
#define EXTERN_C extern "C"
#define EXTERN_C_START extern "C" {
#define EXTERN_C_END }
#else
#define EXTERN_C extern
#define EXTERN_C_START
#define EXTERN_C_END
#endif
#define DECLSPEC_IMPORT __declspec(dllimport)
#define DECLSPEC_ALIGN(x) __declspec(align(x))
#define POINTER_ALIGNMENT DECLSPEC_ALIGN(8)
#define DECLSPEC_SELECTANY __declspec(selectany)
#define DECLSPEC_NORETURN __declspec(noreturn)
#define DECLSPEC_NOINLINE __declspec(noinline)
#define DECLSPEC_RESTRICT __declspec(restrict)
#define DECLSPEC_ALLOCATE(Section) __declspec(allocate(Section))
#define DECLSPEC_UUID(Text) __declspec(uuid(Text))
#define MEMORY_ALLOCATION_ALIGNMENT 16
#define ANYSIZE_ARRAY 1
#define VOID void
#define CONST const

typedef unsigned __int64 size_t;
typedef __int64 ptrdiff_t;
typedef __int64 intptr_t;
typedef unsigned __int64 uintptr_t;
#ifndef __cplusplus
typedef unsigned short wchar_t;
#endif

typedef char CHAR;
typedef short SHORT;
typedef long LONG;
typedef int INT;
typedef unsigned char UCHAR;
typedef unsigned short USHORT;
typedef unsigned long ULONG;
typedef unsigned int UINT;
typedef unsigned char BYTE;
typedef unsigned short WORD;
typedef unsigned long DWORD;
typedef int BOOL;
typedef signed char INT8;
typedef signed short INT16;
typedef signed int INT32;
typedef signed __int64 INT64;
typedef unsigned char UINT8;
typedef unsigned short UINT16;
typedef unsigned int UINT32;
typedef unsigned __int64 UINT64;
typedef signed int LONG32;
typedef unsigned int ULONG32;
typedef unsigned int DWORD32;
typedef __int64 LONG64;
typedef unsigned __int64 ULONG64;
typedef unsigned __int64 DWORD64;
typedef __int64 LONGLONG;
typedef unsigned __int64 ULONGLONG;
typedef unsigned __int64 DWORDLONG;
typedef __int64 INT_PTR;
typedef unsigned __int64 UINT_PTR;
typedef __int64 LONG_PTR;
typedef unsigned __int64 ULONG_PTR;
typedef unsigned __int64 DWORD_PTR;
typedef ULONG_PTR SIZE_T;
typedef LONG_PTR SSIZE_T;
typedef ULONG_PTR KAFFINITY;
typedef wchar_t WCHAR;
typedef UCHAR BOOLEAN;
typedef char CCHAR;
typedef short CSHORT;
typedef ULONG CLONG;
typedef ULONG LOGICAL;
typedef LONG NTSTATUS;
typedef LONG HRESULT;
typedef ULONG LCID;
typedef USHORT LANGID;
typedef UCHAR KIRQL;
typedef CCHAR KPROCESSOR_MODE;
typedef LONG KPRIORITY;

typedef void *PVOID;
typedef void *PVOID64;
typedef const void *PCVOID;
typedef void *HANDLE;
typedef CHAR *PCHAR, *LPSTR, *PSTR, *PCH;
typedef const CHAR *LPCSTR, *PCSTR, *PCCH, *PCSZ;
typedef WCHAR *PWCHAR, *LPWSTR, *PWSTR, *PWCH;
typedef const WCHAR *LPCWSTR, *PCWSTR, *PCWCH, *LPCWCH, *LPCWCHAR;
typedef PWSTR *PZPWSTR;
typedef const PWSTR *PCZPWSTR;
typedef PWSTR PZZWSTR;
typedef SHORT *PSHORT;
typedef LONG *PLONG;
typedef INT *PINT;
typedef UCHAR *PUCHAR;
typedef const UCHAR *PCUCHAR;
typedef const WCHAR *PCWCHAR;
typedef USHORT *PUSHORT;
typedef ULONG *PULONG;
typedef UINT *PUINT;
typedef BYTE *PBYTE;
typedef DWORD *PDWORD;
typedef BOOL *PBOOL;
typedef BOOLEAN *PBOOLEAN;
typedef UINT8 *PUINT8;
typedef UINT16 *PUINT16;
typedef UINT32 *PUINT32;
typedef UINT64 *PUINT64;
typedef LONG64 *PLONG64;
typedef ULONG64 *PULONG64;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef INT_PTR *PINT_PTR;
typedef UINT_PTR *PUINT_PTR;
typedef LONG_PTR *PLONG_PTR;
typedef ULONG_PTR *PULONG_PTR;
typedef SIZE_T *PSIZE_T;
typedef SSIZE_T *PSSIZE_T;
typedef KAFFINITY *PKAFFINITY;
typedef HANDLE *PHANDLE;
typedef NTSTATUS *PNTSTATUS;
typedef KIRQL *PKIRQL;
typedef LCID *PLCID;

#ifdef UNICODE
#define TEXT(Text) WDK_KIT_WIDE(Text)
#define WDK_KIT_WIDE(Text) L##Text
#else
#define TEXT(Text) Text
#endif

#define DECLARE_HANDLE(name) struct name##__ { int unused; }; typedef struct name##__ *name

#define TRUE 1
#define FALSE 0
#ifdef __cplusplus
#define NULL 0
#else
#define NULL ((void *)0)
#endif
#define MAXLONG 0x7fffffff
#define MAXUSHORT 0xffff
#define MAXULONG 0xffffffff
#define MAXUINT8 ((UINT8)~(UINT8)0)
#define MAXINT8 ((INT8)(MAXUINT8 >> 1))
#define MININT8 ((INT8)~MAXINT8)
#define MAXUINT16 ((UINT16)~(UINT16)0)
#define MAXINT16 ((INT16)(MAXUINT16 >> 1))
#define MININT16 ((INT16)~MAXINT16)
#define MAXUINT ((UINT)~(UINT)0)
#define MAXINT ((INT)(MAXUINT >> 1))
#define MININT ((INT)~MAXINT)
#define MAXUINT32 ((UINT32)~(UINT32)0)
#define MAXINT32 ((INT32)(MAXUINT32 >> 1))
#define MININT32 ((INT32)~MAXINT32)
#define MAXULONG32 ((ULONG32)~(ULONG32)0)
#define MAXLONG32 ((LONG32)(MAXULONG32 >> 1))
#define MINLONG32 ((LONG32)~MAXLONG32)
#define MAXUINT64 ((UINT64)~(UINT64)0)
#define MAXINT64 ((INT64)(MAXUINT64 >> 1))
#define MININT64 ((INT64)~MAXINT64)
#define MAXULONG64 ((ULONG64)~(ULONG64)0)
#define MAXLONG64 ((LONG64)(MAXULONG64 >> 1))
#define MINLONG64 ((LONG64)~MAXLONG64)
#define MAXULONG_PTR (~(ULONG_PTR)0)
#define MAXLONG_PTR ((LONG_PTR)(MAXULONG_PTR >> 1))
#define MINLONG_PTR (~MAXLONG_PTR)
#define MAXUINT_PTR (~(UINT_PTR)0)
#define MAXINT_PTR ((INT_PTR)(MAXUINT_PTR >> 1))
#define MININT_PTR (~MAXINT_PTR)
#define MAXSIZE_T (~(SIZE_T)0)
#define MAXSSIZE_T ((SSIZE_T)(MAXSIZE_T >> 1))
#define MINSSIZE_T (~MAXSSIZE_T)
#define UNICODE_STRING_MAX_BYTES 65534
#define UNICODE_STRING_MAX_CHARS 32767
#define UNICODE_NULL ((WCHAR)0)
#define ANSI_NULL ((CHAR)0)

typedef union _LARGE_INTEGER {
    struct { ULONG LowPart; LONG HighPart; };
    struct { ULONG LowPart; LONG HighPart; } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    struct { ULONG LowPart; ULONG HighPart; };
    struct { ULONG LowPart; ULONG HighPart; } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;

typedef struct _LUID { ULONG LowPart; LONG HighPart; } LUID, *PLUID;

typedef struct _UNICODE_STRING {
    USHORT Length;
    USHORT MaximumLength;
    PWCH Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;

typedef struct _STRING {
    USHORT Length;
    USHORT MaximumLength;
    PCHAR Buffer;
} STRING, *PSTRING, ANSI_STRING, *PANSI_STRING, OEM_STRING, *POEM_STRING, UTF8_STRING, *PUTF8_STRING;
typedef const STRING *PCSTRING, *PCOEM_STRING, *PCUTF8_STRING;
/* In the WDK, this one is not to constant data, whatever its name says. */
typedef PSTRING PCANSI_STRING;

typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY *Flink;
    struct _LIST_ENTRY *Blink;
} LIST_ENTRY, *PLIST_ENTRY, *PRLIST_ENTRY;

typedef struct _SINGLE_LIST_ENTRY {
    struct _SINGLE_LIST_ENTRY *Next;
} SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;

typedef struct DECLSPEC_ALIGN(16) _SLIST_ENTRY {
    struct _SLIST_ENTRY *Next;
} SLIST_ENTRY, *PSLIST_ENTRY;

typedef union DECLSPEC_ALIGN(16) _SLIST_HEADER {
    struct { ULONGLONG Alignment; ULONGLONG Region; };
    struct { ULONGLONG Depth : 16; ULONGLONG Sequence : 48; ULONGLONG Reserved : 4; ULONGLONG NextEntry : 60; } HeaderX64;
} SLIST_HEADER, *PSLIST_HEADER;

typedef struct _GUID {
    unsigned long Data1;
    unsigned short Data2;
    unsigned short Data3;
    unsigned char Data4[8];
} GUID, *LPGUID, *PGUID;
typedef const GUID *LPCGUID;

typedef struct _OBJECT_ATTRIBUTES {
    ULONG Length;
    HANDLE RootDirectory;
    PUNICODE_STRING ObjectName;
    ULONG Attributes;
    PVOID SecurityDescriptor;
    PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
typedef const OBJECT_ATTRIBUTES *PCOBJECT_ATTRIBUTES;

#define OBJ_INHERIT 0x00000002L
#define OBJ_PERMANENT 0x00000010L
#define OBJ_EXCLUSIVE 0x00000020L
#define OBJ_CASE_INSENSITIVE 0x00000040L
#define OBJ_OPENIF 0x00000080L
#define OBJ_OPENLINK 0x00000100L
#define OBJ_KERNEL_HANDLE 0x00000200L
#define OBJ_FORCE_ACCESS_CHECK 0x00000400L

typedef struct _PROCESSOR_NUMBER { USHORT Group; UCHAR Number; UCHAR Reserved; } PROCESSOR_NUMBER, *PPROCESSOR_NUMBER;

typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;
    USHORT Group;
    USHORT Reserved[3];
} GROUP_AFFINITY, *PGROUP_AFFINITY;

typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;
typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;
typedef enum _WAIT_TYPE { WaitAll, WaitAny, WaitNotification, WaitDequeue, WaitDpc } WAIT_TYPE;
typedef enum _NT_PRODUCT_TYPE { NtProductWinNt = 1, NtProductLanManNt, NtProductServer } NT_PRODUCT_TYPE, *PNT_PRODUCT_TYPE;

typedef struct _DEVPROPKEY { GUID fmtid; ULONG pid; } DEVPROPKEY, *PDEVPROPKEY;
typedef ULONG DEVPROPTYPE, *PDEVPROPTYPE;
