/* Addresses of IPv6, and what they are: RFC 4291. ws2def.h has the structures.
 *
 * Written from Microsoft's documentation. */
#pragma once

#include "ws2def.h"

#define IN6ADDR_ANY_INIT { 0 }
#define IN6ADDR_LOOPBACK_INIT { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }

#ifndef WDK_KIT_NO_TYPES
FORCEINLINE BOOLEAN IN6_ADDR_EQUAL(const IN6_ADDR *First, const IN6_ADDR *Second) { return !__builtin_memcmp(First, Second, sizeof(IN6_ADDR)); }
FORCEINLINE BOOLEAN WdkKitStartsWithZeros(const IN6_ADDR *Address, ULONG Length) {
    ULONG Index;
    for (Index = 0; Index < Length; Index++) {
        if (Address->u.Byte[Index] != 0) {
            return FALSE;
        }
    }
    return TRUE;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_UNSPECIFIED(const IN6_ADDR *Address) { return WdkKitStartsWithZeros(Address, 16); }
FORCEINLINE BOOLEAN IN6_IS_ADDR_LOOPBACK(const IN6_ADDR *Address) { return WdkKitStartsWithZeros(Address, 15) && Address->u.Byte[15] == 1; }
FORCEINLINE BOOLEAN IN6_IS_ADDR_MULTICAST(const IN6_ADDR *Address) { return Address->u.Byte[0] == 0xff; }
FORCEINLINE BOOLEAN IN6_IS_ADDR_LINKLOCAL(const IN6_ADDR *Address) {
    return Address->u.Byte[0] == 0xfe && (Address->u.Byte[1] & 0xc0) == 0x80;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_SITELOCAL(const IN6_ADDR *Address) {
    return Address->u.Byte[0] == 0xfe && (Address->u.Byte[1] & 0xc0) == 0xc0;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_GLOBAL(const IN6_ADDR *Address) {
    ULONG High = Address->u.Byte[0] & 0xf0;
    return High != 0 && High != 0xf0;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_V4MAPPED(const IN6_ADDR *Address) {
    return WdkKitStartsWithZeros(Address, 10) && Address->u.Byte[10] == 0xff && Address->u.Byte[11] == 0xff;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_V4COMPAT(const IN6_ADDR *Address) {
    return WdkKitStartsWithZeros(Address, 12) && !WdkKitStartsWithZeros(Address, 15) && !IN6_IS_ADDR_LOOPBACK(Address);
}
/* The scope of a multicast address is in its second byte. */
FORCEINLINE BOOLEAN WdkKitHasScope(const IN6_ADDR *Address, UCHAR Scope) {
    return IN6_IS_ADDR_MULTICAST(Address) && (Address->u.Byte[1] & 0xf) == Scope;
}
FORCEINLINE BOOLEAN IN6_IS_ADDR_MC_NODELOCAL(const IN6_ADDR *Address) { return WdkKitHasScope(Address, 1); }
FORCEINLINE BOOLEAN IN6_IS_ADDR_MC_LINKLOCAL(const IN6_ADDR *Address) { return WdkKitHasScope(Address, 2); }
FORCEINLINE BOOLEAN IN6_IS_ADDR_MC_SITELOCAL(const IN6_ADDR *Address) { return WdkKitHasScope(Address, 5); }
FORCEINLINE BOOLEAN IN6_IS_ADDR_MC_ORGLOCAL(const IN6_ADDR *Address) { return WdkKitHasScope(Address, 8); }
FORCEINLINE BOOLEAN IN6_IS_ADDR_MC_GLOBAL(const IN6_ADDR *Address) { return WdkKitHasScope(Address, 0xe); }
#endif
