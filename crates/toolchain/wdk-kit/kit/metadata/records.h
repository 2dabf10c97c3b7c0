/* Records for which the metadata has the fields of 32-bit systems or of user mode, or only one of two forms. Only the bodies are here: the
 * names and the pointer types are generated as for every other record. */

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

/* A driver that knows processor groups defines NT_PROCESSOR_GROUPS. The packing is restored inside of the record, because the text of a record
 * ends with its brace. */
#pragma pack(push, 4)
struct _CM_PARTIAL_RESOURCE_DESCRIPTOR {
    UCHAR Type;
    UCHAR ShareDisposition;
    USHORT Flags;
    union {
        struct { LARGE_INTEGER Start; ULONG Length; } Generic;
        struct { LARGE_INTEGER Start; ULONG Length; } Port;
        struct {
#ifdef NT_PROCESSOR_GROUPS
            USHORT Level;
            USHORT Group;
#else
            ULONG Level;
#endif
            ULONG Vector;
            ULONG_PTR Affinity;
        } Interrupt;
        struct {
            union {
                struct { USHORT Reserved; USHORT MessageCount; ULONG Vector; ULONG_PTR Affinity; } Raw;
                struct {
#ifdef NT_PROCESSOR_GROUPS
                    USHORT Level;
                    USHORT Group;
#else
                    ULONG Level;
#endif
                    ULONG Vector;
                    ULONG_PTR Affinity;
                } Translated;
            };
        } MessageInterrupt;
        struct { LARGE_INTEGER Start; ULONG Length; } Memory;
        struct { ULONG Channel; ULONG Port; ULONG Reserved1; } Dma;
        struct { ULONG Channel; ULONG RequestLine; UCHAR TransferWidth; UCHAR Reserved1; UCHAR Reserved2; UCHAR Reserved3; } DmaV3;
        struct { ULONG Data[3]; } DevicePrivate;
        struct { ULONG Start; ULONG Length; ULONG Reserved; } BusNumber;
        struct { ULONG DataSize; ULONG Reserved1; ULONG Reserved2; } DeviceSpecificData;
        struct { LARGE_INTEGER Start; ULONG Length40; } Memory40;
        struct { LARGE_INTEGER Start; ULONG Length48; } Memory48;
        struct { LARGE_INTEGER Start; ULONG Length64; } Memory64;
        struct { UCHAR Class; UCHAR Type; UCHAR Reserved1; UCHAR Reserved2; ULONG IdLowPart; ULONG IdHighPart; } Connection;
    } u;
#pragma pack(pop)
};

struct _IO_RESOURCE_DESCRIPTOR {
    UCHAR Option;
    UCHAR Type;
    UCHAR ShareDisposition;
    UCHAR Spare1;
    USHORT Flags;
    USHORT Spare2;
    union {
        struct { ULONG Length; ULONG Alignment; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Port;
        struct { ULONG Length; ULONG Alignment; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Memory;
        struct {
            ULONG MinimumVector;
            ULONG MaximumVector;
#ifdef NT_PROCESSOR_GROUPS
            USHORT AffinityPolicy;
            USHORT Group;
#else
            IRQ_DEVICE_POLICY AffinityPolicy;
#endif
            IRQ_PRIORITY PriorityPolicy;
            ULONG_PTR TargetedProcessors;
        } Interrupt;
        struct { ULONG MinimumChannel; ULONG MaximumChannel; } Dma;
        struct { ULONG RequestLine; ULONG Reserved; ULONG Channel; ULONG TransferWidth; } DmaV3;
        struct { ULONG Length; ULONG Alignment; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Generic;
        struct { ULONG Data[3]; } DevicePrivate;
        struct { ULONG Length; ULONG MinBusNumber; ULONG MaxBusNumber; ULONG Reserved; } BusNumber;
        struct { ULONG Priority; ULONG Reserved1; ULONG Reserved2; } ConfigData;
        struct { ULONG Length40; ULONG Alignment40; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Memory40;
        struct { ULONG Length48; ULONG Alignment48; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Memory48;
        struct { ULONG Length64; ULONG Alignment64; LARGE_INTEGER MinimumAddress; LARGE_INTEGER MaximumAddress; } Memory64;
        struct { UCHAR Class; UCHAR Type; UCHAR Reserved1; UCHAR Reserved2; ULONG IdLowPart; ULONG IdHighPart; } Connection;
    } u;
};

/* Headers for programs have fields of a PEB; the WDK has only pointers to one. */
struct _PROCESS_BASIC_INFORMATION {
    NTSTATUS ExitStatus;
    PPEB PebBaseAddress;
    ULONG_PTR AffinityMask;
    KPRIORITY BasePriority;
    ULONG_PTR UniqueProcessId;
    ULONG_PTR InheritedFromUniqueProcessId;
};
