/* Routines of USBD.SYS, and names for drivers that send requests for a USB device themselves. */
#pragma once

#include "usb.h"

#define USBD_CLIENT_CONTRACT_VERSION_INVALID 0xffffffff
#define USBD_CLIENT_CONTRACT_VERSION_602 0x602
#define USBD_INTERFACE_VERSION_602 0x602
#define USBD_INTERFACE_VERSION_603 0x603

/* The sizes of requests with an array at their end, for this number of elements. */
#define GET_ISO_URB_SIZE(Packets) (sizeof(struct _URB_ISOCH_TRANSFER) + sizeof(USBD_ISO_PACKET_DESCRIPTOR) * (Packets))
#define GET_USBD_INTERFACE_SIZE(Pipes) (sizeof(USBD_INTERFACE_INFORMATION) + sizeof(USBD_PIPE_INFORMATION) * (Pipes) - sizeof(USBD_PIPE_INFORMATION))
#define GET_SELECT_INTERFACE_REQUEST_SIZE(Pipes) \
    (sizeof(struct _URB_SELECT_INTERFACE) + ((Pipes) > 0 ? sizeof(USBD_PIPE_INFORMATION) * ((Pipes) - 1) : 0))

/* Fill in a request. */
#define WDK_KIT_URB(Urb, Code, Size) ((Urb)->UrbHeader.Function = (Code), (Urb)->UrbHeader.Length = (USHORT)(Size))
#define WDK_KIT_URB_BUFFER(Request, Buffer, Mdl, Size, Link) \
    ((Request).TransferBufferLength = (Size), (Request).TransferBuffer = (Buffer), (Request).TransferBufferMDL = (Mdl), (Request).UrbLink = (Link))
#define UsbBuildGetDescriptorRequest(Urb, Size, Type, Number, Language, Buffer, Mdl, BufferSize, Link) \
    (WDK_KIT_URB(Urb, URB_FUNCTION_GET_DESCRIPTOR_FROM_DEVICE, Size), \
     WDK_KIT_URB_BUFFER((Urb)->UrbControlDescriptorRequest, Buffer, Mdl, BufferSize, Link), \
     (Urb)->UrbControlDescriptorRequest.DescriptorType = (Type), (Urb)->UrbControlDescriptorRequest.Index = (Number), \
     (Urb)->UrbControlDescriptorRequest.LanguageId = (Language))
#define UsbBuildGetStatusRequest(Urb, Code, Number, Buffer, Mdl, Link) \
    (WDK_KIT_URB(Urb, Code, sizeof(struct _URB_CONTROL_GET_STATUS_REQUEST)), \
     WDK_KIT_URB_BUFFER((Urb)->UrbControlGetStatusRequest, Buffer, Mdl, sizeof(USHORT), Link), \
     (Urb)->UrbControlGetStatusRequest.Index = (Number))
#define UsbBuildInterruptOrBulkTransferRequest(Urb, Size, Pipe, Buffer, Mdl, BufferSize, Flags, Link) \
    (WDK_KIT_URB(Urb, URB_FUNCTION_BULK_OR_INTERRUPT_TRANSFER, Size), \
     WDK_KIT_URB_BUFFER((Urb)->UrbBulkOrInterruptTransfer, Buffer, Mdl, BufferSize, Link), \
     (Urb)->UrbBulkOrInterruptTransfer.PipeHandle = (Pipe), (Urb)->UrbBulkOrInterruptTransfer.TransferFlags = (Flags))
#define UsbBuildSelectConfigurationRequest(Urb, Size, Descriptor) \
    (WDK_KIT_URB(Urb, URB_FUNCTION_SELECT_CONFIGURATION, Size), (Urb)->UrbSelectConfiguration.ConfigurationDescriptor = (Descriptor))
#define UsbBuildSelectInterfaceRequest(Urb, Size, Configuration, Number, Setting) \
    (WDK_KIT_URB(Urb, URB_FUNCTION_SELECT_INTERFACE, Size), (Urb)->UrbSelectInterface.Interface.AlternateSetting = (Setting), \
     (Urb)->UrbSelectInterface.Interface.InterfaceNumber = (Number), (Urb)->UrbSelectInterface.ConfigurationHandle = (Configuration))

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
