//! The tree of files and folders of the [volume](super::volume).

use std::collections::BTreeMap;

use etw_types::NtStatus;
use nt_processor::memory::{GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use windows_constants::file::{
    FILE_CREATED, FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPENED, FILE_OVERWRITTEN, FILE_SUPERSEDED,
};

use super::content::Content;
use crate::case::folded;
use crate::ex::paths::{leaf, parent};
use crate::kernel;

/// The folders that exist from the start.
const DIRS: [&str; 8] = [
    r"\",
    r"\System Volume Information",
    r"\Windows",
    r"\Windows\System32",
    r"\Windows\System32\drivers",
    r"\Windows\System32\LogFiles",
    r"\Windows\Temp",
    r"\Users",
];
/// The size of a cluster. A file has a whole number of clusters.
const CLUSTER: u64 = 0x1000;
/// The maximum size of a file.
const LARGEST: u64 = 1 << 30;

/// A file or a folder.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The last part of its path, as it was spelled when it was created.
    name: String,
    /// The contents; `None` for a folder.
    data: Option<Content>,
    /// Identifies it as long as it exists: the `FsContext` of its file objects. NULL before it is opened.
    pub(super) stream: GuestPtr<Opaque>,
    /// The number of bytes that are reserved for it.
    reserved: u64,
    /// Whether it goes with its last handle.
    pub(super) goes: bool,
}

/// The files, by their path in lower case, and the paths of open file objects.
#[derive(Debug, Default)]
pub struct Volume {
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) open: SortedMap<u64, String>,
    /// The enumerations of open folders.
    pub(super) scans: SortedMap<u64, Scan>,
}

/// The enumeration of a folder through a file object. The first request sets the pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    pub(super) pattern: String,
    pub(super) returned: usize,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The name, without its folder.
    pub name: String,
    /// Its size and state.
    pub size: Size,
}

/// Information about a file.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The size in bytes.
    pub end: u64,
    reserved: u64,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Whether it is deleted when its last handle is closed.
    pub goes: bool,
}

impl Size {
    /// The size of a folder.
    pub const fn dir() -> Self {
        Self { end: 0, reserved: 0, is_dir: true, goes: false }
    }

    /// Returns the number of bytes that the file takes.
    pub const fn allocated(self) -> u64 {
        let size = if self.end > self.reserved { self.end } else { self.reserved };
        size.next_multiple_of(CLUSTER)
    }
}

impl Volume {
    /// Creates the folders of Windows and the files that the test describes, before the first use.
    fn fill(&mut self) {
        if self.nodes.is_empty() {
            for dir in DIRS {
                self.put(dir, None);
            }
            for (path, data) in &kernel().config.files {
                self.add(path, data.as_ref());
            }
        }
    }

    pub(super) fn node(&mut self, path: &str) -> Option<&mut Node> {
        self.fill();
        self.nodes.get_mut(path)
    }

    fn put(&mut self, path: &str, data: Option<Content>) {
        let name = leaf(path).to_owned();
        self.nodes.insert(folded(path), Node { name, data, ..Node::default() });
    }

    /// Adds a file or a folder that the test describes, and the folders above it.
    fn add(&mut self, path: &str, data: Option<&Vec<u8>>) {
        for (end, _) in path.match_indices('\\').skip(1) {
            let dir = &path[..end];
            if !self.nodes.contains_key(&folded(dir)) {
                self.put(dir, None);
            }
        }
        self.put(path.trim_end_matches('\\'), data.map(|data| Content::from(data.as_slice())));
    }

    pub(super) fn of_file(&mut self, file: u64) -> Option<&mut Node> {
        let path = self.open.get(&file)?.clone();
        self.node(&path)
    }

    /// Creates or opens a file. Returns what was done.
    pub(super) fn create(&mut self, path: &str, disposition: u32, options: u32) -> Result<u64, NtStatus> {
        let wants_folder = options & FILE_DIRECTORY_FILE != 0;
        let spelled = path;
        let path = folded(path);
        let path = path.as_str();
        if self.node(path).is_some_and(|node| node.goes) {
            return Err(NtStatus::DeletePending);
        }
        if let Some(node) = self.node(path) {
            match (&mut node.data, disposition) {
                // FILE_CREATE.
                (_, 2) => return Err(NtStatus::ObjectNameCollision),
                (Some(_), _) if wants_folder => return Err(NtStatus::NotADirectory),
                (None, _) if options & FILE_NON_DIRECTORY_FILE != 0 => return Err(NtStatus::FileIsADirectory),
                // FILE_SUPERSEDE, FILE_OVERWRITE, FILE_OVERWRITE_IF.
                (Some(data), 0 | 4 | 5) => {
                    data.set_end(0);
                    node.reserved = 0;
                    return Ok(if disposition == 0 { FILE_SUPERSEDED } else { FILE_OVERWRITTEN });
                }
                (None, 0 | 4 | 5) => return Err(NtStatus::InvalidParameter),
                _ => return Ok(FILE_OPENED),
            }
        }
        if self.node(parent(path)).is_none_or(|above| above.data.is_some()) {
            return Err(NtStatus::ObjectPathNotFound);
        }
        // FILE_OPEN, FILE_OVERWRITE.
        if matches!(disposition, 1 | 4) {
            return Err(NtStatus::ObjectNameNotFound);
        }
        self.put(spelled, (!wants_folder).then(Content::default));
        Ok(FILE_CREATED)
    }

    /// Returns the size of an open file.
    pub fn size(&mut self, file: u64) -> Option<Size> {
        self.of_file(file).map(|node| node.size())
    }

    /// Sets the end of an open file.
    pub(crate) fn set_end(&mut self, file: u64, end: u64) -> NtStatus {
        match self.of_file(file).and_then(|node| node.data.as_mut()) {
            Some(data) if end <= LARGEST => {
                data.set_end(end);
                NtStatus::Success
            }
            Some(_) => NtStatus::DiskFull,
            None => NtStatus::InvalidParameter,
        }
    }

    /// Sets the number of bytes that are reserved for an open file. Its end is not after them.
    pub(crate) fn reserve(&mut self, file: u64, size: u64) -> NtStatus {
        let end = self.size(file).map_or(0, |known| known.end.min(size));
        let status = if size > LARGEST { NtStatus::DiskFull } else { self.set_end(file, end) };
        if let Some(node) = self.of_file(file).filter(|_| status.is_success()) {
            node.reserved = size;
        }
        status
    }

    /// Makes an open file go with its last handle, or not.
    pub(crate) fn set_goes(&mut self, file: u64, goes: bool) {
        if let Some(node) = self.of_file(file) {
            node.goes = goes;
        }
    }

    /// Returns whether a file object belongs to the volume.
    pub fn has(&self, file: u64) -> bool {
        self.open.contains_key(&file)
    }

    /// Returns up to `length` bytes of an open file.
    pub fn read(&mut self, file: u64, offset: u64, length: u32) -> Result<Vec<u8>, NtStatus> {
        let Some(data) = self.of_file(file).and_then(|node| node.data.as_ref()) else {
            return Err(NtStatus::InvalidDeviceRequest);
        };
        if offset >= data.end() && length != 0 {
            return Err(NtStatus::EndOfFile);
        }
        Ok(data.read(offset, length))
    }

    /// Writes bytes to an open file.
    pub fn write(&mut self, file: u64, offset: u64, bytes: &[u8]) -> Result<(), NtStatus> {
        let Some(data) = self.of_file(file).and_then(|node| node.data.as_mut()) else {
            return Err(NtStatus::InvalidDeviceRequest);
        };
        let end = offset.saturating_add(bytes.len() as u64);
        if end > LARGEST {
            return Err(NtStatus::DiskFull);
        }
        data.write(offset, bytes);
        Ok(())
    }

    /// Deletes a file that is not open.
    pub fn delete(&mut self, path: &str) -> NtStatus {
        let path = &folded(path);
        if self.node(path).is_none() {
            return NtStatus::ObjectNameNotFound;
        }
        if self.open.values().any(|known| *known == *path) {
            return NtStatus::SharingViolation;
        }
        self.nodes.remove(path);
        NtStatus::Success
    }

    /// Marks an open file for deletion, or removes the mark.
    pub(crate) fn dispose(&mut self, file: u64, goes: bool) -> NtStatus {
        let Some(path) = self.open.get(&file).cloned() else { return NtStatus::InvalidParameter };
        if goes && self.below(&path).next().is_some() {
            return NtStatus::DirectoryNotEmpty;
        }
        self.set_goes(file, goes);
        NtStatus::Success
    }

    /// Returns the paths of everything in a folder.
    fn below(&self, dir: &str) -> impl Iterator<Item = &String> {
        let prefix = format!("{}\\", dir.trim_end_matches('\\'));
        self.nodes.keys().filter(move |path| path.len() > prefix.len() && path.starts_with(&prefix))
    }

    /// Returns the entries of an open folder in the order of their names.
    pub fn list(&mut self, file: u64) -> Result<Vec<Listed>, NtStatus> {
        let path = self.open.get(&file).cloned().ok_or(NtStatus::InvalidParameter)?;
        if self.node(&path).is_none_or(|node| node.data.is_some()) {
            return Err(NtStatus::InvalidParameter);
        }
        let entries: Vec<String> = self.below(&path).filter(|entry| parent(entry) == path).cloned().collect();
        Ok(entries.iter().filter_map(|entry| Some(self.node(entry)?.listed())).collect())
    }

    /// Gives an open file another path.
    pub fn rename(&mut self, file: u64, to: &str, replace: bool) -> NtStatus {
        let Some(from) = self.open.get(&file).cloned() else { return NtStatus::InvalidParameter };
        let target = folded(to);
        if self.node(parent(&target)).is_none_or(|above| above.data.is_some()) {
            return NtStatus::ObjectPathNotFound;
        }
        if target != from && self.nodes.contains_key(&target) {
            if !replace {
                return NtStatus::ObjectNameCollision;
            }
            if self.open.values().any(|known| *known == target) || self.below(&target).next().is_some() {
                return NtStatus::AccessDenied;
            }
        }
        let moved: Vec<String> = self.below(&from).cloned().chain([from.clone()]).collect();
        for path in moved {
            let Some(mut node) = self.nodes.remove(&path) else { continue };
            if path == from {
                leaf(to).clone_into(&mut node.name);
            }
            self.nodes.insert(format!("{target}{}", &path[from.len()..]), node);
        }
        for path in self.open.values_mut() {
            let rest = path.strip_prefix(&from).filter(|rest| rest.is_empty() || rest.starts_with('\\'));
            if let Some(rest) = rest {
                *path = format!("{target}{rest}");
            }
        }
        NtStatus::Success
    }

    /// Returns the path of an open file, as its parts were spelled when they were created.
    pub fn path_of(&mut self, file: u64) -> Option<String> {
        let path = self.open.get(&file)?.clone();
        Some(self.spelled(&path))
    }

    /// Returns a path with the spelling of those of its parts that exist.
    pub fn spelled(&mut self, path: &str) -> String {
        self.fill();
        let mut spelled = String::new();
        for part in path.split('\\').filter(|part| !part.is_empty()) {
            let node = self.nodes.get(&folded(&format!("{spelled}\\{part}")));
            spelled.push('\\');
            spelled.push_str(node.map_or(part, |node| &node.name));
        }
        if spelled.is_empty() { r"\".to_owned() } else { spelled }
    }

    /// Returns the stream of an open file.
    pub fn stream(&mut self, file: u64) -> Option<GuestPtr<Opaque>> {
        self.of_file(file).map(|node| node.stream)
    }

    /// Returns whether a stream has open files.
    pub fn is_stream_open(&self, stream: u64) -> bool {
        self.open.values().any(|path| self.nodes.get(path).is_some_and(|node| node.stream.address() == stream))
    }
}

impl Node {
    fn size(&self) -> Size {
        let end = self.data.as_ref().map_or(0, Content::end);
        Size { end, reserved: self.reserved, is_dir: self.data.is_none(), goes: self.goes }
    }

    fn listed(&self) -> Listed {
        Listed { name: self.name.clone(), size: self.size() }
    }
}
