/* Names of base types that programs use. */
#pragma once

#include "ntdef.h"

typedef float FLOAT;
typedef BYTE *LPBYTE;
typedef WORD *PWORD, *LPWORD;
typedef DWORD *LPDWORD;
typedef LONG *LPLONG;
typedef BOOL *LPBOOL;
typedef void *LPVOID;
typedef const void *LPCVOID;
typedef UINT_PTR WPARAM;
typedef LONG_PTR LPARAM, LRESULT;

#ifndef MAX_PATH
#define MAX_PATH 260
#endif
#define FAR
#define NEAR
#define WINAPI __stdcall
#define CALLBACK __stdcall
#define MAKEWORD(Low, High) ((WORD)((BYTE)(Low) | (WORD)(BYTE)(High) << 8))
#define MAKELONG(Low, High) ((LONG)((WORD)(Low) | (DWORD)(WORD)(High) << 16))
#define LOWORD(Value) ((WORD)(DWORD_PTR)(Value))
#define HIWORD(Value) ((WORD)((DWORD_PTR)(Value) >> 16))
#define LOBYTE(Value) ((BYTE)(DWORD_PTR)(Value))
#define HIBYTE(Value) ((BYTE)((DWORD_PTR)(Value) >> 8))
