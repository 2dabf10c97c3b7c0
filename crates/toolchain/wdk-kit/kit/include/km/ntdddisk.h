/* Control codes of disks: ntddstor.h has most of them.
 *
 * Written from Microsoft's documentation; the functions of the codes are in public lists of control codes. */
#pragma once

#include "ntddstor.h"

#define IOCTL_DISK_GET_CLUSTER_INFO CTL_CODE(IOCTL_DISK_BASE, 0x85, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_CLUSTER_INFO CTL_CODE(IOCTL_DISK_BASE, 0x86, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define DISK_CLUSTER_FLAG_ENABLED 1
#define DISK_CLUSTER_FLAG_CSV 2
#define DISK_CLUSTER_FLAG_IN_MAINTENANCE 4
#define DISK_CLUSTER_FLAG_PNP_ARRIVAL_COMPLETE 8

#ifndef WDK_KIT_NO_TYPES
typedef struct _DISK_CLUSTER_INFO {
    ULONG Version;
    ULONGLONG Flags;
    ULONGLONG FlagsMask;
    BOOLEAN Notify;
} DISK_CLUSTER_INFO, *PDISK_CLUSTER_INFO;
#endif
