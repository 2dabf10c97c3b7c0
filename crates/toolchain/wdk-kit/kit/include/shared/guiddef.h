/* Identifiers. A file that includes initguid.h first defines those that follow; other files declare them.
 *
 * There is no guard around DEFINE_GUID: initguid.h changes its meaning. */
#include "ntdef.h"

#undef DEFINE_GUID
#ifdef INITGUID
#define DEFINE_GUID(Name, A, B, C, D0, D1, D2, D3, D4, D5, D6, D7) \
    EXTERN_C const GUID DECLSPEC_SELECTANY Name = { (A), (B), (C), { (D0), (D1), (D2), (D3), (D4), (D5), (D6), (D7) } }
#else
#define DEFINE_GUID(Name, A, B, C, D0, D1, D2, D3, D4, D5, D6, D7) EXTERN_C const GUID Name
#endif

#ifndef WDK_KIT_GUIDDEF_H
#define WDK_KIT_GUIDDEF_H
typedef GUID IID, CLSID, FMTID;
#ifdef __cplusplus
/* In C++, these are references. */
#define REFGUID const GUID &
#define REFIID const IID &
#define REFCLSID const IID &
extern "C++" {
inline int IsEqualGUID(REFGUID First, REFGUID Second) { return !__builtin_memcmp(&First, &Second, sizeof(GUID)); }
inline bool operator==(REFGUID First, REFGUID Second) { return IsEqualGUID(First, Second) != 0; }
inline bool operator!=(REFGUID First, REFGUID Second) { return !IsEqualGUID(First, Second); }
}
#else
typedef const GUID *REFGUID, *REFIID, *REFCLSID;
#define IsEqualGUID(First, Second) (!__builtin_memcmp((First), (Second), sizeof(GUID)))
#endif
#define InlineIsEqualGUID(First, Second) IsEqualGUID((First), (Second))
#define IsEqualIID(First, Second) IsEqualGUID((First), (Second))
#define IsEqualCLSID(First, Second) IsEqualGUID((First), (Second))
#endif
