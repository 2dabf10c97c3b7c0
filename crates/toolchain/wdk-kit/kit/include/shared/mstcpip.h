/* What addresses of IPv4 are: RFC 1122, 1918, 3927 and 5771; parts of socket addresses. ws2ipdef.h has the same for IPv6.
 *
 * Written from Microsoft's documentation. */
#pragma once

#include "ws2ipdef.h"

#ifndef WDK_KIT_NO_TYPES
FORCEINLINE BOOLEAN IN4_ADDR_EQUAL(const IN_ADDR *First, const IN_ADDR *Second) { return First->s_addr == Second->s_addr; }
FORCEINLINE BOOLEAN IN4_IS_ADDR_UNSPECIFIED(const IN_ADDR *Address) { return Address->s_addr == 0; }
FORCEINLINE BOOLEAN IN4_IS_ADDR_BROADCAST(const IN_ADDR *Address) { return Address->s_addr == 0xffffffff; }
FORCEINLINE BOOLEAN IN4_IS_ADDR_LOOPBACK(const IN_ADDR *Address) { return (UCHAR)Address->s_addr == 127; }
FORCEINLINE BOOLEAN IN4_IS_ADDR_MULTICAST(const IN_ADDR *Address) { return ((UCHAR)Address->s_addr & 0xf0) == 0xe0; }
FORCEINLINE BOOLEAN IN4_IS_ADDR_LINKLOCAL(const IN_ADDR *Address) { return (USHORT)Address->s_addr == (169 | 254 << 8); }
FORCEINLINE BOOLEAN IN4_IS_ADDR_RFC1918(const IN_ADDR *Address) {
    USHORT Network = (USHORT)Address->s_addr;
    return (UCHAR)Network == 10 || (Network & 0xf0ff) == (172 | 16 << 8) || Network == (192 | 168 << 8);
}
FORCEINLINE BOOLEAN IN4_IS_ADDR_MC_LINKLOCAL(const IN_ADDR *Address) { return (Address->s_addr & 0xffffff) == 224; }

/* The address and the port of a SOCKADDR_IN or SOCKADDR_IN6. */
FORCEINLINE PUCHAR INETADDR_ADDRESS(const SOCKADDR *Address) {
    return Address->sa_family == AF_INET6 ? (PUCHAR)&((SOCKADDR_IN6 *)Address)->sin6_addr : (PUCHAR)&((SOCKADDR_IN *)Address)->sin_addr;
}
FORCEINLINE USHORT INETADDR_PORT(const SOCKADDR *Address) { return ((const SOCKADDR_IN *)Address)->sin_port; }
FORCEINLINE VOID INETADDR_SET_PORT(PSOCKADDR Address, USHORT Port) { ((SOCKADDR_IN *)Address)->sin_port = Port; }
FORCEINLINE VOID INETADDR_SET_ADDRESS(PSOCKADDR Address, const UCHAR *Bytes) {
    __builtin_memcpy(INETADDR_ADDRESS(Address), Bytes, Address->sa_family == AF_INET6 ? sizeof(IN6_ADDR) : sizeof(IN_ADDR));
}
FORCEINLINE BOOLEAN INETADDR_ISANY(const SOCKADDR *Address) {
    return Address->sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED((const IN6_ADDR *)INETADDR_ADDRESS(Address))
                                          : IN4_IS_ADDR_UNSPECIFIED((const IN_ADDR *)INETADDR_ADDRESS(Address));
}
FORCEINLINE BOOLEAN INETADDR_ISLOOPBACK(const SOCKADDR *Address) {
    return Address->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK((const IN6_ADDR *)INETADDR_ADDRESS(Address))
                                          : IN4_IS_ADDR_LOOPBACK((const IN_ADDR *)INETADDR_ADDRESS(Address));
}
FORCEINLINE VOID INETADDR_SETLOOPBACK(PSOCKADDR Address) {
    static const UCHAR Loopback6[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    static const UCHAR Loopback4[4] = { 127, 0, 0, 1 };
    INETADDR_SET_ADDRESS(Address, Address->sa_family == AF_INET6 ? Loopback6 : Loopback4);
}
#endif
