//! PDB files. Guarantees: every file gives a symbol table or an error that names a field. Its WPP message formats can
//! be parsed. The work is bounded by the length of the file.

use etw_manifest::wpp::Messages;
use pe_image::pdb::{Msf, Table, trace_formats};

/// Reads the symbols and looks up some addresses.
pub(super) fn run(bytes: &[u8]) {
    if let Ok(formats) = Msf::parse(bytes).and_then(|msf| trace_formats(&msf)) {
        // Replacement characters are longer than the bytes that they replace.
        assert!(formats.len() <= bytes.len() * 6, "{} bytes of formats", formats.len());
        let mut messages = Messages::default();
        assert!(messages.parse(&formats) >= messages.len(), "some messages were not counted");
    }
    let table = match Msf::parse(bytes).and_then(|msf| Table::read(&msf)) {
        Ok(table) => table,
        Err(error) => {
            assert!(!error.field().is_empty());
            assert!(!error.reason().is_empty());
            return;
        }
    };
    for rva in (0..0x4000).step_by(4).chain([u32::MAX]) {
        let _ = table.nearest(rva);
        if let Some((_, line)) = table.line(rva) {
            assert!(line < 1 << 24, "a line number has more than 24 bits");
        }
        let frames = table.frames(rva);
        assert!(frames.len() <= 257, "{} frames", frames.len());
        assert!(frames.last().is_none_or(|frame| !frame.is_inlined));
    }
}
