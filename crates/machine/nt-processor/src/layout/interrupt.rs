//! Resources of devices, and what drivers connect to interrupts with.

use super::device::DEVICE_OBJECT;
use super::layout;
use crate::memory::{Code, GuestPtr, Opaque};

layout! {
    /// The union's members are words that need no alignment.
    #[derive(PartialEq, Eq)]
    CM_PARTIAL_RESOURCE_DESCRIPTOR: 20 {
        Type: u8,
        ShareDisposition: u8,
        Flags: u16,
        u: [u32; 4],
    }

    /// `CM_RESOURCE_LIST` with one full descriptor; the partial ones follow.
    CM_RESOURCE_LIST: 20 {
        Count: u32,
        InterfaceType: u32,
        BusNumber: u32,
        Version: u16,
        Revision: u16,
        PartialCount: u32,
    }

    /// The union's members are of different sizes.
    #[derive(PartialEq, Eq)]
    IO_RESOURCE_DESCRIPTOR: 32 {
        Option: u8,
        Type: u8,
        ShareDisposition: u8,
        Spare1: u8,
        Flags: u16,
        Spare2: u16,
        u: [u64; 3],
    }

    /// `IO_RESOURCE_REQUIREMENTS_LIST` with the head of its only list; the descriptors follow.
    IO_RESOURCE_REQUIREMENTS_LIST: 40 {
        ListSize: u32,
        InterfaceType: u32,
        BusNumber: u32,
        SlotNumber: u32,
        Reserved: [u32; 3],
        AlternativeLists: u32,
        Version: u16,
        Revision: u16,
        Count: u32,
    }

    /// `KINTERRUPT`, which is Windows' own affair.
    INTERRUPT_OBJECT: 0x28 {
        Lock: GuestPtr<u64>,
        OwnLock: u64,
        ServiceRoutine: GuestPtr<Code>,
        ServiceContext: u64,
        SynchronizeIrql: u8,
        Padding: [u8; 7],
    }

    /// The union's members begin alike. Where others have the IRQL and the mode, the one for messages has its second routine.
    IO_CONNECT_INTERRUPT_PARAMETERS: 0x50 {
        Version: u32,
        Padding1: u32,
        PhysicalDeviceObject: GuestPtr<DEVICE_OBJECT>,
        InterruptObject: GuestPtr<GuestPtr<Opaque>>,
        ServiceRoutine: GuestPtr<Code>,
        ServiceContext: u64,
        SpinLock: GuestPtr<u64>,
        SynchronizeIrql: u8,
        FloatingSave: u8,
        ShareVector: u8,
        Padding2: u8,
        Vector: u32,
        FallBackServiceRoutine: GuestPtr<Code>,
        ProcessorEnableMask: u64,
        Group: u16,
        Padding3: [u16; 3],
    }

    IO_DISCONNECT_INTERRUPT_PARAMETERS: 0x10 {
        Version: u32,
        Padding: u32,
        ConnectionContext: GuestPtr<Opaque>,
    }

    /// Entries follow.
    IO_INTERRUPT_MESSAGE_INFO: 8 {
        UnifiedIrql: u8,
        Padding: [u8; 3],
        MessageCount: u32,
    }

    IO_INTERRUPT_MESSAGE_INFO_ENTRY: 0x30 {
        MessageAddress: u64,
        TargetProcessorSet: u64,
        InterruptObject: GuestPtr<INTERRUPT_OBJECT>,
        MessageData: u32,
        Vector: u32,
        Irql: u8,
        Padding1: [u8; 3],
        Mode: u32,
        Polarity: u32,
        Padding2: u32,
    }

    /// As of 1.11; before, it ended with `EvtInterruptDisable`, and later ones go on behind this.
    WDF_INTERRUPT_CONFIG: 96 {
        Size: u32,
        Padding1: u32,
        SpinLock: u64,
        ShareVector: u32,
        FloatingSave: u8,
        AutomaticSerialization: u8,
        Padding2: [u8; 2],
        EvtInterruptIsr: GuestPtr<Code>,
        EvtInterruptDpc: GuestPtr<Code>,
        EvtInterruptEnable: GuestPtr<Code>,
        EvtInterruptDisable: GuestPtr<Code>,
        EvtInterruptWorkItem: GuestPtr<Code>,
        InterruptRaw: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>,
        InterruptTranslated: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>,
        WaitLock: u64,
        PassiveHandling: u8,
        Padding3: [u8; 7],
    }

    WDF_INTERRUPT_EXTENDED_POLICY: 32 {
        Size: u32,
        Policy: i32,
        Priority: i32,
        Padding: u32,
        Mask: u64,
        Group: u16,
        Reserved: [u16; 3],
    }

    WDF_INTERRUPT_INFO: 64 {
        Size: u32,
        Padding1: u32,
        Reserved1: u64,
        TargetProcessorSet: u64,
        Reserved2: u32,
        MessageNumber: u32,
        Vector: u32,
        Irql: u8,
        Padding2: [u8; 3],
        Mode: u32,
        Polarity: u32,
        MessageSignaled: u8,
        ShareDisposition: u8,
        Padding3: [u8; 6],
        Group: u16,
        Padding4: [u8; 6],
    }
}
