/* The part of the framework's C interface for USB that is not in its function table. wdfusb.h includes it. */
#pragma once

#if !defined(WDK_KIT_NO_ROUTINES) && !defined(WDK_KIT_NO_RECORDS) && !defined(WDK_KIT_NO_CONSTANTS) && !defined(WDK_KIT_NO_TYPES)
WDK_KIT_INIT(WDF_USB_DEVICE_CREATE_CONFIG_INIT, WDF_USB_DEVICE_CREATE_CONFIG, (PWDF_USB_DEVICE_CREATE_CONFIG This, ULONG Version),
    This->USBDClientContractVersion = Version;)
WDK_KIT_INIT(WDF_USB_DEVICE_INFORMATION_INIT, WDF_USB_DEVICE_INFORMATION, (PWDF_USB_DEVICE_INFORMATION This))
WDK_KIT_INIT(WDF_USB_PIPE_INFORMATION_INIT, WDF_USB_PIPE_INFORMATION, (PWDF_USB_PIPE_INFORMATION This))
WDK_KIT_INIT(WDF_USB_CONTINUOUS_READER_CONFIG_INIT, WDF_USB_CONTINUOUS_READER_CONFIG, (PWDF_USB_CONTINUOUS_READER_CONFIG This, PFN_WDF_USB_READER_COMPLETION_ROUTINE Complete, WDFCONTEXT Context, size_t Length),
    This->EvtUsbTargetPipeReadComplete = Complete; This->EvtUsbTargetPipeReadCompleteContext = Context; This->TransferLength = Length;)
WDK_KIT_INIT(WDF_USB_DEVICE_SELECT_CONFIG_PARAMS_INIT_SINGLE_INTERFACE, WDF_USB_DEVICE_SELECT_CONFIG_PARAMS, (PWDF_USB_DEVICE_SELECT_CONFIG_PARAMS This),
    This->Type = WdfUsbTargetDeviceSelectConfigTypeSingleInterface;)
WDK_KIT_INIT(WDF_USB_DEVICE_SELECT_CONFIG_PARAMS_INIT_MULTIPLE_INTERFACES, WDF_USB_DEVICE_SELECT_CONFIG_PARAMS, (PWDF_USB_DEVICE_SELECT_CONFIG_PARAMS This, UCHAR Count, PWDF_USB_INTERFACE_SETTING_PAIR Pairs),
    This->Type = Count != 0 && Pairs != NULL ? WdfUsbTargetDeviceSelectConfigTypeInterfacesPairs : WdfUsbTargetDeviceSelectConfigTypeMultiInterface;
    This->Types.MultiInterface.NumberInterfaces = Pairs != NULL ? Count : 0; This->Types.MultiInterface.Pairs = Pairs;)
WDK_KIT_INIT(WDF_USB_DEVICE_SELECT_CONFIG_PARAMS_INIT_URB, WDF_USB_DEVICE_SELECT_CONFIG_PARAMS, (PWDF_USB_DEVICE_SELECT_CONFIG_PARAMS This, PURB Urb),
    This->Type = WdfUsbTargetDeviceSelectConfigTypeUrb; This->Types.Urb.Urb = Urb;)
WDK_KIT_INIT(WDF_USB_DEVICE_SELECT_CONFIG_PARAMS_INIT_DECONFIG, WDF_USB_DEVICE_SELECT_CONFIG_PARAMS, (PWDF_USB_DEVICE_SELECT_CONFIG_PARAMS This),
    This->Type = WdfUsbTargetDeviceSelectConfigTypeDeconfig;)
WDK_KIT_INIT(WDF_USB_INTERFACE_SELECT_SETTING_PARAMS_INIT_SETTING, WDF_USB_INTERFACE_SELECT_SETTING_PARAMS, (PWDF_USB_INTERFACE_SELECT_SETTING_PARAMS This, UCHAR Index),
    This->Type = WdfUsbInterfaceSelectSettingTypeSetting; This->Types.Interface.SettingIndex = Index;)

#define WDK_KIT_SETUP_PACKET(Name, Kind) \
    FORCEINLINE VOID Name(PWDF_USB_CONTROL_SETUP_PACKET This, WDF_USB_BMREQUEST_DIRECTION Direction, WDF_USB_BMREQUEST_RECIPIENT Recipient, \
                          BYTE Request, USHORT Value, USHORT Index) { \
        RtlZeroMemory(This, sizeof *This); \
        This->Packet.bm.Request.Dir = (BYTE)Direction; \
        This->Packet.bm.Request.Type = (BYTE)Kind; \
        This->Packet.bm.Request.Recipient = (BYTE)Recipient; \
        This->Packet.bRequest = Request; \
        This->Packet.wValue.Value = Value; \
        This->Packet.wIndex.Value = Index; \
    }
WDK_KIT_SETUP_PACKET(WDF_USB_CONTROL_SETUP_PACKET_INIT, BmRequestStandard)
WDK_KIT_SETUP_PACKET(WDF_USB_CONTROL_SETUP_PACKET_INIT_CLASS, BmRequestClass)
WDK_KIT_SETUP_PACKET(WDF_USB_CONTROL_SETUP_PACKET_INIT_VENDOR, BmRequestVendor)

FORCEINLINE VOID WDF_USB_CONTROL_SETUP_PACKET_INIT_FEATURE(PWDF_USB_CONTROL_SETUP_PACKET This, WDF_USB_BMREQUEST_RECIPIENT Recipient,
                                                           USHORT Feature, USHORT Index, BOOLEAN Set) {
    WDF_USB_CONTROL_SETUP_PACKET_INIT(This, BmRequestHostToDevice, Recipient, Set ? 3 : 1, Feature, Index);
}
FORCEINLINE VOID WDF_USB_CONTROL_SETUP_PACKET_INIT_GET_STATUS(PWDF_USB_CONTROL_SETUP_PACKET This, WDF_USB_BMREQUEST_RECIPIENT Recipient,
                                                              USHORT Index) {
    WDF_USB_CONTROL_SETUP_PACKET_INIT(This, BmRequestDeviceToHost, Recipient, 0, 0, Index);
}

/* A USB device and its pipes are I/O targets. */
FORCEINLINE WDFIOTARGET WdfUsbTargetDeviceGetIoTarget(WDFUSBDEVICE Device) { return (WDFIOTARGET)Device; }
FORCEINLINE WDFIOTARGET WdfUsbTargetPipeGetIoTarget(WDFUSBPIPE Pipe) { return (WDFIOTARGET)Pipe; }
FORCEINLINE BOOLEAN WDF_USB_PIPE_DIRECTION_IN(UCHAR Endpoint) { return (Endpoint & 0x80) != 0; }
FORCEINLINE BOOLEAN WDF_USB_PIPE_DIRECTION_OUT(UCHAR Endpoint) { return (Endpoint & 0x80) == 0; }
#endif
