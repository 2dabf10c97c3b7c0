//! Maps addresses to images, using the image events of a trace.
//!
//! An image has a life: after it is unloaded, another one can be loaded at its addresses. An address is therefore looked up at
//! the time of the event whose stack has it.

use std::collections::BTreeMap;
use std::fmt;

use etw_types::tracelogging::Value;
use etw_types::{Guid, InType, OutType};

use crate::decode::{Decoder, FrameNames, Scalar, show};
use crate::event::EventRef;
use crate::rundown;

/// Maximum number of image events that are remembered.
const MAX_IMAGES: usize = 0x10_0000;
/// The class of the kernel's image events.
const IMAGE: Guid = Guid::from_u128(0x2cb1_5d1d_5fc1_11d2_abe1_00a0_c911_f518);
/// The class of events that describe images and their PDBs.
pub(crate) const IMAGE_ID: Guid = Guid::from_u128(0xb3e6_75d7_2554_4f18_830b_2762_7325_60de);

/// Maximum number of bases below an address whose images are looked at.
const MAX_BASES: usize = 256;

/// An image in the address space of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Image {
    end: u64,
    name: Box<str>,
}

/// What an image event says about its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Loaded,
    /// A rundown: the image was loaded before.
    Present,
    Unloaded,
}

/// An image event.
#[derive(Clone, Debug)]
struct Point {
    stamp: u64,
    change: Change,
    image: Image,
}

impl Point {
    /// Returns the event that describes the image at a base at one time, from all events about that base in time order.
    fn at(points: &[Self], stamp: u64) -> Option<&Self> {
        let next = points.partition_point(|point| point.stamp <= stamp);
        let last = next.checked_sub(1).and_then(|last| points.get(last));
        let loaded = last.filter(|last| last.change != Change::Unloaded || last.stamp == stamp);
        // Only a load says that the image was not there before.
        loaded.or_else(|| points.get(next).filter(|next| next.change != Change::Loaded))
    }

    /// Returns the event that describes the last image at a base.
    fn last(points: &[Self]) -> Option<&Self> {
        points.iter().rfind(|point| point.change != Change::Unloaded).or_else(|| points.last())
    }
}

/// The PDB of an image: the time stamp of the event that names it, its id and its name.
type Pdb = (u64, Guid, Box<str>);

/// The location of an address within an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The name of the image's file.
    pub image: &'a str,
    /// Bytes from the start of the image.
    pub offset: u64,
    /// Id and name of the image's PDB, if the trace contains them.
    pub pdb: Option<(Guid, &'a str)>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.image, self.offset)
    }
}

/// The images of a trace. Drivers and the kernel belong to the address space of every process.
///
/// ```
/// use etw_etl::{FrameNames as _, Images, Place};
///
/// // A reader has found them in its trace: `reader.images()`.
/// let images = Images::default();
/// assert!(images.is_empty());
/// let place: Option<Place<'_>> = images.find(4, 0xFFFF_F800_0000_1000);
/// assert!(place.is_none() && images.name(4, 0xFFFF_F800_0000_1000).is_none());
/// // The same at the time of an event, `event.header.stamp`.
/// assert!(images.find_at(4, 1_000_000, 0xFFFF_F800_0000_1000).is_none());
/// assert!(images.names_at(4, 1_000_000, 0xFFFF_F800_0000_1000).is_empty());
///
/// ```
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// The image events of each process and base. In time order after [`sort`](Self::sort).
    by_base: BTreeMap<(u32, u64), Vec<Point>>,
    /// Images that only an `ImageId` event describes.
    described: BTreeMap<(u32, u64), Image>,
    /// The PDBs of the images of each process and base, with the time stamps of their events.
    pdbs: BTreeMap<(u32, u64), Vec<Pdb>>,
    /// The number of events in the three maps.
    count: usize,
    /// The size of the longest image.
    longest: u64,
}

impl Images {
    /// Adds an image event: a load, an unload, a rundown, or an event that names an image's PDB. Ignores all other events. Call
    /// [`sort`](Self::sort) after the last one.
    pub(crate) fn add(&mut self, decoder: &mut Decoder, event: &EventRef<'_>) {
        let Some(subject) = subject(event).filter(|_| self.count < MAX_IMAGES) else { return };
        let mut values = Values::default();
        decoder.visit(event, &mut |field, value| match &*field.name {
            "ImageBase" => values.base = number(value),
            "ImageSize" => values.size = number(value),
            "ProcessId" => values.process = number(value),
            "FileName" => values.file = Some(text(value)),
            "OriginalFileName" => values.original_file = Some(text(value)),
            "PdbFileName" => values.pdb_file = Some(text(value)),
            "GuidSig" => values.pdb = if let Value::Guid(id) = value { Some(id) } else { None },
            _ => {}
        });
        self.insert(event.header.stamp, subject, values);
    }

    /// Adds the images of another trace, whose time stamps are converted. Call [`sort`](Self::sort) afterwards.
    pub(crate) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        for (key, points) in &other.by_base {
            let converted = points.iter().map(|point| Point { stamp: stamp(point.stamp), ..point.clone() });
            self.by_base.entry(*key).or_default().extend(converted);
        }
        for (key, image) in &other.described {
            self.described.entry(*key).or_insert_with(|| image.clone());
        }
        for (key, pdbs) in &other.pdbs {
            let converted = pdbs.iter().map(|(at, id, name)| (stamp(*at), *id, name.clone()));
            self.pdbs.entry(*key).or_default().extend(converted);
        }
        self.count = self.count.saturating_add(other.count);
        self.longest = self.longest.max(other.longest);
    }

    /// Brings the events of each base into the order of time, and drops rundown events that say nothing new.
    pub(crate) fn sort(&mut self) {
        for points in self.by_base.values_mut() {
            // A stable sort: events of one time stamp keep their order.
            points.sort_by_key(|point| point.stamp);
            let before = points.len();
            points.dedup_by(|next, last| {
                next.change == Change::Present && last.change != Change::Unloaded && next.image == last.image
            });
            self.count -= before - points.len();
        }
    }

    fn insert(&mut self, stamp: u64, subject: Subject, values: Values) {
        let (Some(base), Some(process)) = (values.base, values.process) else { return };
        let key = (if is_system(base) { 0 } else { u32::try_from(process).unwrap_or(0) }, base);
        let file = |path: String| Box::<str>::from(path.rsplit(['\\', '/']).next().unwrap_or_default());
        let image = |path: Option<String>| Some(Image { end: base.saturating_add(values.size?), name: file(path?) });
        let change = match subject {
            Subject::Image(change) => change,
            Subject::Description => {
                if let Some(image) = image(values.original_file).filter(|_| !self.described.contains_key(&key)) {
                    self.count += 1;
                    self.longest = self.longest.max(image.end - base);
                    self.described.insert(key, image);
                }
                return;
            }
            Subject::Pdb => {
                if let Some((id, name)) = values.pdb.zip(values.pdb_file) {
                    let pdbs = self.pdbs.entry(key).or_default();
                    // A merging tool describes an image once for each of its events.
                    if pdbs.last().is_none_or(|(last, known, _)| (*last, *known) != (stamp, id)) {
                        pdbs.push((stamp, id, file(name)));
                        self.count += 1;
                    }
                }
                return;
            }
        };
        let Some(image) = image(values.file) else { return };
        self.longest = self.longest.max(image.end - base);
        let points = self.by_base.entry(key).or_default();
        let is_new = rundown::push(points, Point { stamp, change, image }, |known, new| {
            [known.change, new.change] == [Change::Present; 2] && known.image == new.image
        });
        self.count += usize::from(is_new);
    }

    /// Returns the image that contains an address of a process, at the end of the trace or before it was unloaded.
    #[must_use]
    pub fn find(&self, process: u32, address: u64) -> Option<Place<'_>> {
        self.find_with(process, address, Point::last)
    }

    /// Returns the image that contained an address of a process at the time of an event: a time stamp in the session's clock.
    #[must_use]
    pub fn find_at(&self, process: u32, stamp: u64, address: u64) -> Option<Place<'_>> {
        self.find_with(process, address, |points| Point::at(points, stamp))
    }

    fn find_with(&self, process: u32, address: u64, choose: impl Fn(&[Point]) -> Option<&Point>) -> Option<Place<'_>> {
        let process = if is_system(address) { 0 } else { process };
        let range = (process, address.saturating_sub(self.longest))..=(process, address);
        // The nearest base may be that of an image that was loaded at another time.
        let mut bases = self.by_base.range(range.clone()).rev().take(MAX_BASES);
        let known = bases.find_map(|(key, points)| {
            let point = choose(points).filter(|point| address < point.image.end)?;
            Some((key, &point.image, point.stamp))
        });
        let described = || {
            let (key, image) = self.described.range(range).next_back()?;
            let is_known = self.by_base.contains_key(key) || address >= image.end;
            (!is_known).then_some((key, image, 0))
        };
        let (key, image, stamp) = known.or_else(described)?;
        // The event that names the PDB is written with the one that describes the image, or when traces are merged.
        let pdbs = self.pdbs.get(key).into_iter().flatten();
        let pdb = pdbs.rev().min_by_key(|(other, ..)| other.abs_diff(stamp)).map(|(_, id, name)| (*id, &**name));
        Some(Place { image: &image.name, offset: address - key.1, pdb })
    }

    /// Formats an address of a process as `name+0xoffset`. Returns `None` if no image is known there.
    #[must_use]
    pub fn name(&self, process: u32, address: u64) -> Option<String> {
        self.find(process, address).map(|place| place.to_string())
    }

    /// Returns whether no image is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_base.is_empty() && self.described.is_empty()
    }
}

impl FrameNames for Images {
    fn names(&self, process: u32, address: u64) -> Vec<String> {
        self.name(process, address).into_iter().collect()
    }

    fn names_at(&self, process: u32, stamp: u64, address: u64) -> Vec<String> {
        self.find_at(process, stamp, address).map(|place| place.to_string()).into_iter().collect()
    }
}

/// What an event says about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Image(Change),
    /// Its size and its name.
    Description,
    Pdb,
}

/// Returns what an event says about an image, by its class and its type.
fn subject(event: &EventRef<'_>) -> Option<Subject> {
    match (event.class()?, event.header.descriptor.opcode.as_int()) {
        (IMAGE, 10) => Some(Subject::Image(Change::Loaded)),
        (IMAGE, 3 | 4) => Some(Subject::Image(Change::Present)),
        (IMAGE, 2) => Some(Subject::Image(Change::Unloaded)),
        (IMAGE_ID, 0) => Some(Subject::Description),
        (IMAGE_ID, 36) => Some(Subject::Pdb),
        _ => None,
    }
}

/// The values of an image event that [`Images`] uses.
#[derive(Debug, Default)]
struct Values {
    base: Option<u64>,
    size: Option<u64>,
    process: Option<u64>,
    file: Option<String>,
    original_file: Option<String>,
    pdb_file: Option<String>,
    pdb: Option<Guid>,
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) | Value::Hex(number) => Some(number),
        _ => None,
    }
}

fn text(value: Value<'_>) -> String {
    match show(InType::Invalid, OutType::Default, value) {
        Scalar::Text(text) => text,
        other => other.to_string(),
    }
}

/// Returns whether an address is in the upper half of the address space, which belongs to the system. A 32-bit trace has no such
/// addresses: its drivers are found in the process that loaded them.
const fn is_system(address: u64) -> bool {
    address >> 47 != 0
}

#[cfg(test)]
mod tests;
