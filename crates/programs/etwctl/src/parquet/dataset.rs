//! A dataset: the events of many traces, partitioned by provider, event and day.
//!
//! Each trace has an id that depends only on its content. `_traces/ID.json` lists the files of a trace with their columns and is written last, so a
//! trace is in the dataset completely or not at all, and one that is there is not added again. What an interrupted run left behind
//! is overwritten by the next one, because the names of the files depend only on the trace.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use command_line::OwnDir;
use etw_etl::{Decoder, EventRef};
use serde_json::json;

use super::folder::{Folder, Layout, cannot_write};
use super::registry::Registry;

/// The folder of the list of traces. Readers of datasets skip names that start with an underscore.
const TRACES: &str = "_traces";
const PARTIAL: &str = "_partial";

/// A dataset.
#[derive(Clone, Debug)]
pub(crate) struct Dataset {
    dir: PathBuf,
}

/// A trace that is being added. Errors name the dataset.
pub(crate) struct Addition {
    dir: PathBuf,
    id: String,
    source: String,
    machine: Option<String>,
    folder: Folder,
}

impl Dataset {
    /// Opens a dataset, or creates it.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir.join(TRACES)).map_err(|error| cannot_write(dir, &error))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// Reads the columns of a dataset that exists.
    pub(crate) fn registry(dir: &Path) -> io::Result<Registry> {
        Registry::read(&dir.join(TRACES)).map_err(|error| {
            let why = if error.kind() == io::ErrorKind::NotFound {
                "this is not a dataset".into()
            } else {
                error.to_string()
            };
            io::Error::new(error.kind(), format!("cannot read {}: {why}", dir.display()))
        })
    }

    /// The id of a trace: its length and a hash of its content.
    pub(crate) fn id(path: &Path) -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut block = vec![0; 1 << 16];
        // FNV-1a over words of eight bytes, with the length. Four hashes take turns, because each step waits for the one before.
        let mut hashes = [0xcbf2_9ce4_8422_2325_u64, 1, 2, 3];
        let mut length = 0_u64;
        loop {
            let mut filled = 0;
            while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                match file.read(rest)? {
                    0 => break,
                    read => filled += read,
                }
            }
            // A block is only shorter than others at the end of the file. Its last words are filled with zeros.
            if let Some(unused) = block.get_mut(filled..) {
                unused.iter_mut().take(4 * size_of::<u64>()).for_each(|byte| *byte = 0);
            }
            let padded = filled.next_multiple_of(4 * size_of::<u64>());
            for words in block.get(..padded).unwrap_or_default().as_chunks::<8>().0.as_chunks::<4>().0 {
                for (hash, word) in hashes.iter_mut().zip(words) {
                    *hash = mixed(*hash, u64::from_le_bytes(*word));
                }
            }
            length += u64::try_from(filled).unwrap_or_default();
            if filled < block.len() {
                return Ok(format!("{length:x}-{:016x}", hashes.into_iter().fold(0, mixed)));
            }
        }
    }

    /// Whether a trace was added.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.dir.join(TRACES).join(format!("{id}.json")).is_file()
    }

    /// Removes the folder of incomplete traces, unless another run has some in it.
    pub(crate) fn tidy(&self) {
        let _ = fs::remove_dir(self.dir.join(PARTIAL));
    }

    /// Begins to add a trace, with this memory for its rows.
    pub(crate) fn add(&self, id: String, source: &Path, machine: Option<String>, rows: usize) -> io::Result<Addition> {
        let partial = self.dir.join(PARTIAL);
        // What a run that was killed left of this trace.
        let remove_old = || {
            fs::create_dir_all(&partial)?;
            for entry in fs::read_dir(&partial)?.flatten() {
                if entry.file_name().to_string_lossy().starts_with(&id) {
                    let _ = OwnDir::new(entry.path()).remove();
                }
            }
            Ok(())
        };
        remove_old().map_err(|error| cannot_write(&self.dir, &error))?;
        let own = partial.join(format!("{id}.{}.partial", std::process::id()));
        let layout = Layout::Partitioned { trace: id.clone(), machine: machine.clone() };
        let folder = Folder::with_layout(&self.dir, own, layout)?.with_memory(rows);
        Ok(Addition { dir: self.dir.clone(), id, source: source.display().to_string(), machine, folder })
    }
}

impl Addition {
    /// Decodes an event and adds it.
    pub(crate) fn event(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> io::Result<()> {
        if self.folder.flat(event, decoder)? { Ok(()) } else { self.folder.event(event, &decoder.decode(event)) }
    }

    /// Completes the trace. `incomplete` says what is missing in it. Returns the number of its events, and of those that were left out.
    #[expect(clippy::disallowed_methods, reason = "the content of the trace names the entry")]
    pub(crate) fn finish(self, incomplete: Option<&str>) -> io::Result<(u64, u64)> {
        let (summary, files) = self.folder.finish()?;
        let entry = json!({
            "schema_version": 1, "trace": self.id, "source": self.source, "machine": self.machine, "events": summary.events,
            "left_out": summary.left_out, "incomplete": incomplete, "files": files,
        });
        // The entry appears with its whole content.
        let list = self.dir.join(TRACES);
        let beside = list.join(format!("{}.partial", self.id));
        let written = fs::write(&beside, format!("{entry:#}\n"))
            .and_then(|()| fs::rename(&beside, list.join(format!("{}.json", self.id))));
        if let Err(error) = written {
            let _ = fs::remove_file(&beside);
            return Err(cannot_write(&self.dir, &error));
        }
        Ok((summary.events, summary.left_out))
    }
}

/// Adds a word to a hash.
const fn mixed(hash: u64, word: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    hash ^ hash >> 29
}
