//! Exceptions: the arguments of handlers, and their layout on the driver's stack.

use etw_types::NtStatus;

use super::layout;
use crate::memory::{Code, GuestPtr};

layout! {
    EXCEPTION_RECORD: 0x98 {
        ExceptionCode: NtStatus,
        ExceptionFlags: u32,
        ExceptionRecord: GuestPtr<EXCEPTION_RECORD>,
        ExceptionAddress: u64,
        NumberParameters: u32,
        Padding: u32,
        ExceptionInformation: [u64; 15],
    }

    EXCEPTION_POINTERS: 0x10 {
        ExceptionRecord: GuestPtr<EXCEPTION_RECORD>,
        ContextRecord: GuestPtr<CONTEXT>,
    }

    /// The x64 registers. `General` holds `Rax` to `R15`. Of `FltSave`, only the parts that are used here have members.
    CONTEXT: 0x4D0 {
        Home: [u64; 6],
        ContextFlags: u32,
        MxCsr: u32,
        SegCs: u16,
        SegDs: u16,
        SegEs: u16,
        SegFs: u16,
        SegGs: u16,
        SegSs: u16,
        EFlags: u32,
        Debug: [u64; 6],
        General: [u64; 16],
        Rip: u64,
        FltSave: [u64; 3],
        FltSaveMxCsr: u32,
        FltSaveMxCsrMask: u32,
        FloatRegisters: [u64; 16],
        XmmRegisters: [u128; 16],
        FltSaveReserved: [u64; 12],
        VectorRegister: [u128; 26],
        VectorControl: u64,
        DebugControl: u64,
        LastBranch: [u64; 4],
    }

    DISPATCHER_CONTEXT: 0x50 {
        ControlPc: u64,
        ImageBase: u64,
        FunctionEntry: u64,
        EstablisherFrame: u64,
        TargetIp: u64,
        ContextRecord: GuestPtr<CONTEXT>,
        LanguageHandler: GuestPtr<Code>,
        HandlerData: GuestPtr<u32>,
        HistoryTable: u64,
        ScopeIndex: u32,
        Fill0: u32,
    }

    /// An entry of `SCOPE_TABLE_AMD64`; addresses are relative to the image.
    SCOPE_RECORD: 0x10 {
        BeginAddress: u32,
        EndAddress: u32,
        HandlerAddress: u32,
        JumpTarget: u32,
    }

    /// An exception on the driver's stack. It begins like a crossing, with a marker in place of the return address. It
    /// ends with free bytes, which are used when the driver resumes.
    EXCEPTION_AREA: 0x660 {
        Crossing: super::frame::CROSSING,
        Padding1: [u64; 3],
        Dispatcher: DISPATCHER_CONTEXT,
        Record: EXCEPTION_RECORD,
        Padding2: u64,
        Context: CONTEXT,
        Free: [u64; 8],
    }
}
