//! PDBs. Every file is a table of names or an error that names a field, its formats of messages are lines that become schemas which
//! hold together, and the work is bounded by its length.

use etw_manifest::wpp::Messages;
use pe_image::pdb::{Msf, Table, trace_formats};

/// Reads the symbols and asks for some addresses.
pub(super) fn run(bytes: &[u8]) {
    if let Ok(formats) = Msf::parse(bytes).and_then(|msf| trace_formats(&msf)) {
        // Replacement characters are longer than what they stand for.
        assert!(formats.len() <= bytes.len() * 6, "{} bytes of formats", formats.len());
        let mut messages = Messages::default();
        assert!(messages.parse(&formats) >= messages.len(), "messages that were not counted");
    }
    let table = match Msf::parse(bytes).and_then(|msf| Table::read(&msf)) {
        Ok(table) => table,
        Err(error) => {
            assert!(!error.field().is_empty() && !error.reason().is_empty());
            return;
        }
    };
    for rva in (0..0x4000).step_by(4).chain([u32::MAX]) {
        let _ = table.nearest(rva);
        if let Some((_, line)) = table.line(rva) {
            assert!(line < 1 << 24, "a line has 24 bits");
        }
        let frames = table.frames(rva);
        assert!(frames.len() <= 257, "{} frames", frames.len());
        assert!(frames.last().is_none_or(|frame| !frame.is_inlined));
    }
}
