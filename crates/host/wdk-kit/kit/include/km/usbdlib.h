/* Routines of USBD.SYS, and names for drivers that send requests for a USB device themselves. */
#pragma once

#include "usb.h"

#define USBD_CLIENT_CONTRACT_VERSION_INVALID 0xffffffff
#define USBD_CLIENT_CONTRACT_VERSION_602 0x602
#define USBD_INTERFACE_VERSION_602 0x602
#define USBD_INTERFACE_VERSION_603 0x603

#ifndef WDK_KIT_NO_TYPES
DECLARE_HANDLE(USBD_HANDLE);

typedef struct _USBD_INTERFACE_LIST_ENTRY {
    PUSB_INTERFACE_DESCRIPTOR InterfaceDescriptor;
    PUSBD_INTERFACE_INFORMATION Interface;
} USBD_INTERFACE_LIST_ENTRY, *PUSBD_INTERFACE_LIST_ENTRY;

#ifndef WDK_KIT_NO_ROUTINES
PURB NTAPI USBD_CreateConfigurationRequestEx(PUSB_CONFIGURATION_DESCRIPTOR ConfigurationDescriptor, PUSBD_INTERFACE_LIST_ENTRY InterfaceList);
PUSB_INTERFACE_DESCRIPTOR NTAPI USBD_ParseConfigurationDescriptorEx(PUSB_CONFIGURATION_DESCRIPTOR ConfigurationDescriptor, PVOID StartPosition,
                                                                    LONG InterfaceNumber, LONG AlternateSetting, LONG InterfaceClass,
                                                                    LONG InterfaceSubClass, LONG InterfaceProtocol);
PUSB_COMMON_DESCRIPTOR NTAPI USBD_ParseDescriptors(PVOID DescriptorBuffer, ULONG TotalLength, PVOID StartPosition, LONG DescriptorType);
VOID NTAPI USBD_GetUSBDIVersion(PUSBD_VERSION_INFORMATION VersionInformation);
#endif
#endif
