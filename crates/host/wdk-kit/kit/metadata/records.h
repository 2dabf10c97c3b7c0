/* Records of 64-bit systems that differ from those of 32-bit ones, whose fields the metadata has. Only bodies: names and
 * pointers are generated as for every other record. */

struct DECLSPEC_ALIGN(MEMORY_ALLOCATION_ALIGNMENT) _IRP {
    CSHORT Type;
    USHORT Size;
    USHORT AllocationProcessorNumber;
    USHORT Reserved;
    PMDL MdlAddress;
    ULONG Flags;
    union { struct _IRP *MasterIrp; volatile LONG IrpCount; PVOID SystemBuffer; } AssociatedIrp;
    LIST_ENTRY ThreadListEntry;
    IO_STATUS_BLOCK IoStatus;
    KPROCESSOR_MODE RequestorMode;
    BOOLEAN PendingReturned;
    CHAR StackCount;
    CHAR CurrentLocation;
    BOOLEAN Cancel;
    KIRQL CancelIrql;
    CCHAR ApcEnvironment;
    UCHAR AllocationFlags;
    union { PIO_STATUS_BLOCK UserIosb; PVOID IoRingContext; };
    PKEVENT UserEvent;
    union {
        struct {
            union { PIO_APC_ROUTINE UserApcRoutine; PVOID IssuingProcess; };
            union { PVOID UserApcContext; struct _IORING_OBJECT *IoRing; };
        } AsynchronousParameters;
        LARGE_INTEGER AllocationSize;
    } Overlay;
    volatile PDRIVER_CANCEL CancelRoutine;
    PVOID UserBuffer;
    union {
        struct {
            union { KDEVICE_QUEUE_ENTRY DeviceQueueEntry; struct { PVOID DriverContext[4]; }; };
            PETHREAD Thread;
            PCHAR AuxiliaryBuffer;
            struct {
                LIST_ENTRY ListEntry;
                union { struct _IO_STACK_LOCATION *CurrentStackLocation; ULONG PacketType; };
            };
            PFILE_OBJECT OriginalFileObject;
            PVOID IrpExtension;
        } Overlay;
        KAPC Apc;
        PVOID CompletionKey;
    } Tail;
};

struct _KTIMER {
    DISPATCHER_HEADER Header;
    ULARGE_INTEGER DueTime;
    LIST_ENTRY TimerListEntry;
    struct _KDPC *Dpc;
    USHORT Processor;
    USHORT TimerType;
    ULONG Period;
};

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

struct _KWAIT_BLOCK {
    LIST_ENTRY WaitListEntry;
    UCHAR WaitType;
    volatile UCHAR BlockState;
    USHORT WaitKey;
    LONG SpareLong;
    union { struct _KTHREAD *Thread; struct _KQUEUE *NotificationQueue; struct _KDPC *Dpc; };
    PVOID Object;
    PVOID SparePtr;
};

struct _ERESOURCE {
    LIST_ENTRY SystemResourcesList;
    POWNER_ENTRY OwnerTable;
    SHORT ActiveCount;
    union { USHORT Flag; struct { UCHAR ReservedLowFlags; UCHAR WaiterPriority; }; };
    PVOID SharedWaiters;
    PVOID ExclusiveWaiters;
    OWNER_ENTRY OwnerEntry;
    ULONG ActiveEntries;
    ULONG ContentionCount;
    ULONG NumberOfSharedWaiters;
    ULONG NumberOfExclusiveWaiters;
    PVOID Reserved2;
    union { PVOID Address; ULONG_PTR CreatorBackTraceIndex; };
    KSPIN_LOCK SpinLock;
};
