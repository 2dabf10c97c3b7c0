//! State of the processor that a driver must not change, or must restore: model-specific registers, and interrupts.

use std::cell::Cell;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

use super::code::code_at;

/// The model-specific registers with which the kernel enters itself and finds its data, with their names in the processor's
/// manual. The kernel checks them, and stops the machine if a driver has changed one (bug check 0x109).
const OWNED: [(u32, &str); 9] = [
    (0x174, "IA32_SYSENTER_CS"),
    (0x176, "IA32_SYSENTER_EIP"),
    (EXTENDED + 0x80, "IA32_EFER"),
    (EXTENDED + 0x81, "IA32_STAR"),
    (EXTENDED + 0x82, "IA32_LSTAR"),
    (EXTENDED + 0x83, "IA32_CSTAR"),
    (EXTENDED + 0x100, "IA32_FS_BASE"),
    (EXTENDED + 0x101, "IA32_GS_BASE"),
    (EXTENDED + 0x102, "IA32_KERNEL_GS_BASE"),
];

/// The first number of the registers that came with 64-bit processors.
const EXTENDED: u32 = 0xC000_0000;

/// The maximum number of instructions after `cli` that are searched for `popfq`.
const NEAR: usize = 256;

thread_local! {
    /// The `cli` that has disabled the interrupts.
    static DISABLED_AT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Returns the name of a model-specific register, if a driver must not write it.
pub(super) fn owned_register(number: u32) -> Option<&'static str> {
    OWNED.iter().find(|(owned, _)| *owned == number).map(|(_, name)| *name)
}

/// Called for `cli` and `sti` at an address.
pub(super) fn set_interrupts(enabled: bool, rip: u64) {
    DISABLED_AT.set(Some(rip).filter(|_| !enabled && !restores_flags(rip)));
}

/// Returns the `cli` after which the driver has not enabled interrupts. Until the next one, they count as enabled.
pub fn take_disabled() -> Option<u64> {
    DISABLED_AT.take()
}

/// Returns whether the flags are loaded in the code after an address. That enables interrupts on Windows, too, but is not
/// noticed here: a process cannot change them.
fn restores_flags(rip: u64) -> bool {
    let mut at = rip;
    for _ in 0..NEAR {
        let code = code_at(at);
        let instruction = Decoder::with_ip(64, &code, at, DecoderOptions::NONE).decode();
        if instruction.mnemonic() == Mnemonic::Popfq {
            return true;
        }
        let is_end = matches!(instruction.flow_control(), FlowControl::Return | FlowControl::Exception);
        if is_end || instruction.is_invalid() {
            return false;
        }
        at = instruction.next_ip();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{EXTENDED, owned_register};

    #[test]
    fn registers_of_the_kernel_have_names_and_others_may_be_written() {
        assert_eq!(owned_register(EXTENDED + 0x101), Some("IA32_GS_BASE"));
        assert_eq!(owned_register(EXTENDED + 0x82), Some("IA32_LSTAR"));
        // IA32_PERF_CTL, which drivers of vendors write.
        assert_eq!(owned_register(0x199), None);
    }
}
