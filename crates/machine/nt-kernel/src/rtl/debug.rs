//! Debug output.

use etw_types::NtStatus;
use nt_processor::memory::{Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{ANY, Call, Ignored, Out, PASSIVE, Rest, routines};
use nt_verifier::verify::{self, Rule};

use super::print::{self, Arguments};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn DbgPrint(format: GuestPtr<u8>, arguments: Rest) -> Result<u32, Fault> {
        output(format, arguments.0)
    }

    #[irql(ANY)]
    fn DbgPrintEx(
        _component: Ignored<u32>,
        _level: Ignored<u32>,
        format: GuestPtr<u8>,
        arguments: Rest,
    ) -> Result<u32, Fault> {
        output(format, arguments.0)
    }

    #[irql(ANY)]
    fn vDbgPrintEx(
        _component: Ignored<u32>,
        _level: Ignored<u32>,
        format: GuestPtr<u8>,
        arguments: GuestPtr<u64>,
    ) -> Result<u32, Fault> {
        output(format, arguments)
    }

    #[irql(ANY)]
    fn vDbgPrintExWithPrefix(
        prefix: GuestPtr<u8>,
        _component: Ignored<u32>,
        _level: Ignored<u32>,
        format: GuestPtr<u8>,
        arguments: GuestPtr<u64>,
    ) -> Result<u32, Fault> {
        verify::print(&text(&print::widen(&prefix.terminated()?)));
        output(format, arguments)
    }

    #[irql(ANY)]
    fn DbgBreakPoint(&call) {
        broken(call)
    }

    #[irql(ANY)]
    fn DbgBreakPointWithStatus(&call, _status: Ignored<u32>) {
        broken(call)
    }

    #[irql(ANY)]
    fn KdRefreshDebuggerNotPresent() -> bool {
        true
    }

    /// No debugger was enabled when the system started.
    #[irql(PASSIVE), fixed]
    fn KdSystemDebugControl(
        _command: Ignored<i32>,
        _input: Ignored<GuestSlice<u8>>,
        _output: Ignored<GuestSlice<u8>>,
        _length: Ignored<Out<u32>>,
        _mode: Ignored<i8>,
    ) -> NtStatus {
        NtStatus::DebuggerInactive
    }
}

fn broken(call: &Call) -> ! {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("hits a breakpoint without a debugger"))
}

/// Prints, and returns `STATUS_SUCCESS`.
fn output(format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<u32, Fault> {
    let format = print::widen(&format.terminated()?);
    verify::print(&text(&print::format(&format, false, &mut Arguments::new(arguments))?));
    Ok(NtStatus::Success.as_int())
}

/// Converts formatted text. Narrow text is in the system's code page, which most drivers do not use beyond ASCII; Rust and
/// clang write UTF-8. So bytes that are valid UTF-8 are shown as such, and other bytes as Latin-1.
fn text(units: &[u16]) -> String {
    let is_byte = |unit: &u16| matches!(unit, 0x80..=0xFF);
    let mut text = String::with_capacity(units.len());
    for run in units.chunk_by(|one, other| is_byte(one) == is_byte(other)) {
        if !run.first().is_some_and(is_byte) {
            text.push_str(&String::from_utf16_lossy(run));
            continue;
        }
        let bytes: Vec<u8> = run.iter().filter_map(|unit| u8::try_from(*unit).ok()).collect();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{print, text};

    #[test]
    fn utf_8_is_shown_as_text_and_other_bytes_as_latin_1() {
        let narrow = |bytes: &[u8]| text(&print::widen(bytes));
        assert_eq!(narrow("Grüße, 日本 👍\n".as_bytes()), "Grüße, 日本 👍\n");
        assert_eq!(narrow(b"caf\xe9 \xc3\xbc\xff \xe2\x82"), "café üÿ â\u{82}");
        let wide: Vec<u16> = "wide é 👍".encode_utf16().collect();
        assert_eq!(text(&wide), "wide é 👍");
    }
}
