//! The names of objects: the system's directories, and the directories and events that drivers create.
//!
//! Devices, drivers and symbolic links keep their own names; they are found here, too.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::image::Leaving;
use nt_processor::layout::OBJECT_ATTRIBUTES;
use nt_processor::memory::{Fault, GuestPtr};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{NO_RESOURCES, Outcome, fail};
use nt_verifier::verify::{self, Rule};
use windows_constants::object::{OBJ_OPENIF, OBJ_PERMANENT};

use super::handle::KernelHandle;
use super::object;
use super::paths::{canonical, follow_links, leaf, parent};
use crate::ex::object::Objects;
use crate::pool::Pool;
use crate::{Kernel, kernel, lock};

/// The size of a directory object, which is opaque.
const SIZE: u64 = 0x158;

/// The kinds of handles to objects that have names.
pub(super) const DIRECTORY: &str = "directory";
pub(super) const EVENT: &str = "event";

/// Directories that every Windows has.
const DIRECTORIES: [&str; 14] = [
    r"\",
    r"\??",
    r"\ArcName",
    r"\BaseNamedObjects",
    r"\Callback",
    r"\Device",
    r"\Driver",
    r"\FileSystem",
    r"\GLOBAL??",
    r"\KernelObjects",
    r"\KnownDlls",
    r"\ObjectTypes",
    r"\RPC Control",
    r"\Security",
];

/// An object with a name.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) path: String,
    pub(super) kind: &'static str,
    pub(super) object: u64,
    /// Whether the name stays when the last handle is closed.
    permanent: bool,
    /// The driver's code that created it; 0 for a directory of the system.
    from: u64,
}

/// The named objects, by their path in lower case.
#[derive(Default)]
pub(super) struct Names(SortedMap<String, Named>);

fn key(path: &str) -> String {
    follow_links(&canonical(path)).to_ascii_lowercase()
}

impl Names {
    /// Returns whether an object has a name.
    pub(super) fn contains(&self, object: u64) -> bool {
        self.0.values().any(|named| named.object == object)
    }

    /// Returns the path of an object.
    pub(super) fn path_of(&self, object: u64) -> Option<String> {
        self.0.values().find(|named| named.object == object).map(|named| named.path.clone())
    }

    /// Makes the name of an object stay, or go with its last handle.
    pub(super) fn set_permanent(&mut self, object: u64, permanent: bool) {
        for named in self.0.values_mut().filter(|named| named.object == object && named.from != 0) {
            named.permanent = permanent;
        }
    }

    /// Removes the name of an object without handles, unless it is permanent.
    pub(super) fn release(&mut self, object: u64) {
        self.0.retain(|_, named| named.object != object || named.permanent);
    }

    /// Reports permanent objects of an image, and forgets all of its objects.
    pub(super) fn report_leaks(&mut self, leaving: Leaving) {
        let is_left = |named: &Named| named.from != 0 && leaving.owns(named.from);
        for named in self.0.values().filter(|named| is_left(named) && named.permanent) {
            let what = format_args!("does not make {} {} temporary", named.kind, named.path);
            verify::find_at(Rule::ObjectLeak, None, named.from, what);
        }
        self.0.retain(|_, named| !is_left(named));
    }
}

/// Creates the directories of the system, unless they exist.
fn make_directories(objects: &Mutex<Objects>, pool: &Mutex<Pool>) {
    if !lock(objects).names.0.is_empty() {
        return;
    }
    for path in DIRECTORIES {
        let object = lock(pool).object(SIZE);
        let named = Named { path: path.to_owned(), kind: DIRECTORY, object, permanent: true, from: 0 };
        lock(objects).names.0.insert(key(path), named);
    }
}

/// Creates a directory object.
pub(super) fn new_directory() -> Outcome<u64> {
    match lock(&kernel().pool).object(SIZE) {
        0 => fail(NO_RESOURCES),
        object => Ok(object),
    }
}

/// Returns the path that attributes describe; empty if they contain no name.
pub(super) fn path_of(attributes: GuestPtr<OBJECT_ATTRIBUTES>) -> Outcome<String> {
    let Some(attributes) = attributes.non_null() else { return Ok(String::new()) };
    let name = attributes.ObjectName().read()?.text()?;
    let root = attributes.RootDirectory().read()?;
    if root != 0 {
        let handle = KernelHandle::new(root);
        let Some(directory) = object::of_kind(handle, DIRECTORY) else {
            return fail(object::by_handle(handle).map_or(NtStatus::InvalidHandle, |_| NtStatus::ObjectTypeMismatch));
        };
        let above = lock(&kernel().objects).names.path_of(directory).unwrap_or_default();
        return match name.as_str() {
            "" => Ok(above),
            _ if name.starts_with('\\') => fail(NtStatus::ObjectPathSyntaxBad),
            _ => Ok(format!(r"{}\{name}", above.trim_end_matches('\\'))),
        };
    }
    if !name.is_empty() && !name.starts_with('\\') {
        return fail(NtStatus::ObjectPathSyntaxBad);
    }
    Ok(follow_links(&name))
}

/// Returns the object with a path: one with a name here, a device, the driver, or a symbolic link.
pub(super) fn find(path: &str) -> Result<Option<Named>, Fault> {
    let wanted = key(path);
    Ok(all()?.into_iter().find(|named| key(&named.path) == wanted))
}

/// Returns all objects with names.
fn all() -> Result<Vec<Named>, Fault> {
    let Kernel { io, objects, pool, .. } = kernel();
    make_directories(objects, pool);
    let mut all: Vec<Named> = lock(objects).names.0.values().cloned().collect();
    let (driver, devices, links) = {
        let io = lock(io);
        let devices = io.devices.iter().filter(|device| !device.name.is_empty());
        let devices: Vec<(String, u64)> =
            devices.map(|device| (device.name.clone(), device.object.address())).collect();
        let links: Vec<String> = io.links.iter().map(|link| canonical(&link.name)).collect();
        (io.driver, devices, links)
    };
    let other = |path: String, kind: &'static str, object: u64| Named { path, kind, object, permanent: true, from: 0 };
    if !driver.is_null() {
        all.push(other(driver.DriverName().text()?, "driver", driver.address()));
    }
    all.extend(devices.into_iter().map(|(path, object)| other(path, "device", object)));
    all.extend(links.into_iter().map(|path| other(path, "symbolic link", 0)));
    Ok(all)
}

/// Returns the names and types of the objects in a directory.
pub(super) fn children(directory: u64) -> Result<Vec<(String, &'static str)>, Fault> {
    let Some(path) = lock(&kernel().objects).names.path_of(directory) else { return Ok(Vec::new()) };
    let wanted = key(&path);
    let inside = all()?.into_iter().filter(|named| named.path != r"\" && key(parent(&named.path)) == wanted);
    Ok(inside.map(|named| (leaf(&named.path).to_owned(), type_name(named.kind))).collect())
}

/// Returns the name of the type of objects of a kind.
pub(super) fn type_name(kind: &str) -> &'static str {
    match kind {
        DIRECTORY => "Directory",
        EVENT => "Event",
        "device" => "Device",
        "driver" => "Driver",
        "file" => "File",
        "key" => "Key",
        "process" => "Process",
        "section" => "Section",
        "symbolic link" => "SymbolicLink",
        "thread" => "Thread",
        _ => "",
    }
}

/// Creates an object of a kind with the name in the attributes, if they have one. With `OBJ_OPENIF`, returns the existing
/// object, and `STATUS_OBJECT_NAME_EXISTS`.
pub(super) fn create(
    attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    kind: &'static str,
    from: u64,
    make: impl FnOnce() -> Outcome<u64>,
) -> Outcome<(u64, NtStatus)> {
    let path = path_of(attributes)?;
    if path.is_empty() {
        return Ok((make()?, NtStatus::Success));
    }
    let flags = attributes.Attributes().read()?;
    match find(&path)? {
        Some(_) if flags & OBJ_OPENIF == 0 => fail(NtStatus::ObjectNameCollision),
        Some(known) if known.kind != kind => fail(NtStatus::ObjectTypeMismatch),
        Some(known) => Ok((known.object, NtStatus::ObjectNameExists)),
        None if find(parent(&path))?.is_none_or(|above| above.kind != DIRECTORY) => fail(NtStatus::ObjectPathNotFound),
        None => {
            let named = Named { path, kind, object: make()?, permanent: flags & OBJ_PERMANENT != 0, from };
            let object = named.object;
            lock(&kernel().objects).names.0.insert(key(&named.path), named);
            Ok((object, NtStatus::Success))
        }
    }
}

/// Returns the object of a kind with the name in the attributes.
pub(super) fn open(attributes: GuestPtr<OBJECT_ATTRIBUTES>, kind: &str) -> Outcome<u64> {
    let path = path_of(attributes)?;
    match find(&path)? {
        Some(known) if known.kind == kind => Ok(known.object),
        Some(_) => fail(NtStatus::ObjectTypeMismatch),
        None if find(parent(&path))?.is_none() => fail(NtStatus::ObjectPathNotFound),
        None => fail(NtStatus::ObjectNameNotFound),
    }
}
