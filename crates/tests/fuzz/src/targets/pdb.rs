//! PDBs. Every file is a table of names or an error that names a field, and the work is bounded by its length.

use pe_image::pdb::{Msf, Table};

/// Reads the symbols and asks for some addresses.
pub(super) fn run(bytes: &[u8]) {
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
