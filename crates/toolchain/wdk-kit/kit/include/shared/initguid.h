/* Makes DEFINE_GUID and DEFINE_DEVPROPKEY define what they name. */
#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"

#undef DEFINE_DEVPROPKEY
#define DEFINE_DEVPROPKEY(Name, A, B, C, D0, D1, D2, D3, D4, D5, D6, D7, Id) \
    EXTERN_C const DEVPROPKEY DECLSPEC_SELECTANY Name = { { (A), (B), (C), { (D0), (D1), (D2), (D3), (D4), (D5), (D6), (D7) } }, (Id) }
