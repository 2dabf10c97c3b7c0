/* Socket addresses and protocols, as network drivers use them; wdm.h has IN_ADDR, IN6_ADDR and SOCKADDR_STORAGE.
 *
 * Written from Microsoft's documentation. */
#pragma once

#include "wdm.h"

#define AF_UNSPEC 0
#define AF_INET 2
#define AF_INET6 23
#define s_addr S_un.S_addr
#define s6_addr u.Byte
#define s6_bytes u.Byte
#define s6_words u.Word
/* The lengths of addresses as text, with the port and the zero at the end. */
#define INET_ADDRSTRLEN 22
#define INET6_ADDRSTRLEN 65

#ifndef WDK_KIT_NO_TYPES
typedef USHORT ADDRESS_FAMILY;
typedef ULONG SCOPE_LEVEL, IF_INDEX, NET_IFINDEX, *PIF_INDEX;
typedef union _NET_LUID_LH {
    ULONG64 Value;
    struct {
        ULONG64 Reserved : 24;
        ULONG64 NetLuidIndex : 24;
        ULONG64 IfType : 16;
    } Info;
} NET_LUID_LH, NET_LUID, IF_LUID, *PNET_LUID;

typedef enum {
    IPPROTO_HOPOPTS = 0,
    IPPROTO_ICMP = 1,
    IPPROTO_IGMP = 2,
    IPPROTO_IPV4 = 4,
    IPPROTO_TCP = 6,
    IPPROTO_UDP = 17,
    IPPROTO_IPV6 = 41,
    IPPROTO_ROUTING = 43,
    IPPROTO_FRAGMENT = 44,
    IPPROTO_ESP = 50,
    IPPROTO_AH = 51,
    IPPROTO_ICMPV6 = 58,
    IPPROTO_NONE = 59,
    IPPROTO_DSTOPTS = 60,
    IPPROTO_RAW = 255,
    IPPROTO_MAX = 256
} IPPROTO, *PIPROTO;

typedef struct sockaddr {
    ADDRESS_FAMILY sa_family;
    CHAR sa_data[14];
} SOCKADDR, *PSOCKADDR;

typedef struct sockaddr_in {
    ADDRESS_FAMILY sin_family;
    USHORT sin_port;
    IN_ADDR sin_addr;
    CHAR sin_zero[8];
} SOCKADDR_IN, *PSOCKADDR_IN;

typedef struct {
    union {
        struct {
            ULONG Zone : 28;
            ULONG Level : 4;
        };
        ULONG Value;
    };
} SCOPE_ID, *PSCOPE_ID;

typedef struct sockaddr_in6 {
    ADDRESS_FAMILY sin6_family;
    USHORT sin6_port;
    ULONG sin6_flowinfo;
    IN6_ADDR sin6_addr;
    union {
        ULONG sin6_scope_id;
        SCOPE_ID sin6_scope_struct;
    };
} SOCKADDR_IN6, *PSOCKADDR_IN6;

typedef union _SOCKADDR_INET {
    SOCKADDR_IN Ipv4;
    SOCKADDR_IN6 Ipv6;
    ADDRESS_FAMILY si_family;
} SOCKADDR_INET, *PSOCKADDR_INET;

typedef struct _IP_ADDRESS_PREFIX {
    SOCKADDR_INET Prefix;
    UCHAR PrefixLength;
} IP_ADDRESS_PREFIX, *PIP_ADDRESS_PREFIX;

typedef struct _WSACMSGHDR {
    SIZE_T cmsg_len;
    LONG cmsg_level;
    LONG cmsg_type;
} WSACMSGHDR, *PWSACMSGHDR;
#endif
