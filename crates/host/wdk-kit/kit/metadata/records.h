/* Records for which the metadata has the fields of 32-bit systems or of user mode. Only the bodies are here: the names and
 * the pointer types are generated as for every other record. */

struct _KDEVICE_QUEUE {
    CSHORT Type;
    CSHORT Size;
    LIST_ENTRY DeviceListHead;
    KSPIN_LOCK Lock;
#if defined(_AMD64_)
    union {
        BOOLEAN Busy;
        struct { LONG64 Reserved : 8; LONG64 Hint : 56; };
    };
#else
    BOOLEAN Busy;
#endif
};

struct _VHF_CONFIG {
    ULONG Size;
    PVOID VhfClientContext;
    ULONG OperationContextSize;
    PDEVICE_OBJECT DeviceObject;
    USHORT VendorID;
    USHORT ProductID;
    USHORT VersionNumber;
    GUID ContainerID;
    USHORT InstanceIDLength;
    PWSTR InstanceID;
    USHORT ReportDescriptorLength;
    PUCHAR ReportDescriptor;
    PEVT_VHF_READY_FOR_NEXT_READ_REPORT EvtVhfReadyForNextReadReport;
    PEVT_VHF_ASYNC_OPERATION EvtVhfAsyncOperationGetFeature;
    PEVT_VHF_ASYNC_OPERATION EvtVhfAsyncOperationSetFeature;
    PEVT_VHF_ASYNC_OPERATION EvtVhfAsyncOperationWriteReport;
    PEVT_VHF_ASYNC_OPERATION EvtVhfAsyncOperationGetInputReport;
    PEVT_VHF_CLEANUP EvtVhfCleanup;
    USHORT HardwareIDsLength;
    PWSTR HardwareIDs;
};
