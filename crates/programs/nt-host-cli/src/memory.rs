//! `--client-memory`: what the client's memory holds, and what the driver has changed in it.

use nt_machine::{Gap, GapKind};

use super::progress::{Progress, status_of};
use nt_host::text::hexadecimal;
use nt_host::{ClientMemory, Error, NtHost};

/// The maximum number of bytes in a line about a change.
const MOST: usize = 4096;

/// The memory of a client.
#[derive(Default)]
pub(super) struct Memory(Vec<Piece>);

/// A piece of memory, and what it held when it was last read.
struct Piece {
    memory: ClientMemory,
    data: Vec<u8>,
}

impl Memory {
    /// Writes to memory, and allocates it where there is none.
    pub(super) fn write(
        &mut self,
        host: &NtHost,
        address: u64,
        data: &[u8],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        progress.step("memory");
        match status_of(host.client_memory(address, data))? {
            Ok(memory) => {
                let is_part = |piece: &&mut Piece| piece.memory.address() == address && piece.data.len() > data.len();
                if let Some(whole) = self.0.iter_mut().find(is_part) {
                    whole.data = whole.memory.read()?;
                } else {
                    self.0.retain(|piece| piece.memory.address() != address);
                    self.0.push(Piece { memory, data: data.to_vec() });
                }
            }
            Err(status) => {
                let detail = format!("the client cannot have memory at {address:#x}: {status}");
                let advice = vec!["another address, for example 0x10000000".to_owned()];
                progress.gaps.push(Gap { kind: GapKind::NotReached, detail, advice });
            }
        }
        Ok(())
    }

    /// Shows what the driver has written since the last call.
    pub(super) fn show_changes(&mut self, progress: &mut Progress) -> Result<(), Error> {
        for Piece { memory, data } in &mut self.0 {
            let start = memory.address();
            let now = memory.read()?;
            let differs = |index: &usize| data.get(*index) != now.get(*index);
            let first = (0..now.len()).find(differs);
            let last = (0..now.len()).rfind(differs);
            let changed = first.zip(last).and_then(|(first, last)| Some((first, now.get(first..=last)?)));
            if let Some((first, bytes)) = changed {
                let address = start + first as u64;
                let (shown, rest) = bytes.split_at(MOST.min(bytes.len()));
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more bytes", rest.len()) };
                progress.note(&format!("memory {address:#x}: {}{more}", hexadecimal(shown)));
            }
            *data = now;
        }
        Ok(())
    }

    /// Returns what the memory held at the end, with the addresses.
    pub(super) fn contents(self) -> Vec<(u64, String)> {
        self.0.into_iter().map(|piece| (piece.memory.address(), hexadecimal(&piece.data))).collect()
    }
}
