//! Stack frames and blocks of this host that its assembly code and its Rust code share.

use super::layout;
use crate::memory::{GuestPtr, Opaque};

layout! {
    /// The block at a thread's GS base: the members of the processor control region that compiled drivers use, the
    /// current thread's object, where the host's and the driver's stacks continue, and the host's FS base.
    PROCESSOR_BLOCK: 0x4000 {
        Unused1: [u64; 3],
        SelfPcr: GuestPtr<PROCESSOR_BLOCK>,
        CurrentPrcb: GuestPtr<u64>,
        Unused2: [u64; 5],
        Irql: u8,
        Padding: [u8; 7],
        Unused3: [u64; 37],
        Prcb: u64,
        CurrentThread: GuestPtr<Opaque>,
        Unused4: [u64; 2],
        NestingLevel: u32,
        Number: u32,
        Unused5: [u64; 459],
        Thread: [u64; 512],
        HostStack: u64,
        DriverStack: u64,
        HostThread: u64,
        Unused6: [u64; 1021],
    }

    /// What the common entry of all imports stores on the driver's stack: the caller's nonvolatile registers, from r15
    /// to rbx, and the return address.
    CROSSING: 0x48 {
        Kept: [u64; 8],
        Return: u64,
    }

    /// What the common entry stores on the host's stack: xmm6 to xmm15, and where the driver's stack continued before.
    HOST_FRAME: 0xB0 {
        Vectors: [u128; 10],
        Level: u64,
        Padding: u64,
    }

    /// What a call into the driver stores on its stack: the arguments, where that stack continued before (the crossing
    /// of the routine that calls back), and a word that identifies the frame.
    CALL_FRAME: 0x60 {
        Arguments: [u64; 10],
        Link: GuestPtr<CROSSING>,
        Mark: u64,
    }
}
