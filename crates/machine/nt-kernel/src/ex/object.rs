//! The handle table, and the references that a driver holds.

use std::collections::BTreeMap;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::layer_state::LayerState;
use nt_processor::sorted::{SortedMap, SortedSet};
use nt_verifier::routine::{NO_RESOURCES, PASSIVE};
use nt_verifier::verify::{self, Breach, Rule, Wdm};

use super::handle::KernelHandle;
use super::namespace::Names;
use crate::{kernel, lock};

/// The maximum number of handles in a table of x64 Windows: 16 Mi minus the entries that the tables themselves use.
const MAX_HANDLES: usize = 16_711_680;

struct Handle {
    kind: &'static str,
    object: u64,
    from: u64,
    /// The routine that opened it.
    routine: Option<&'static str>,
}

/// The driver's references to an object, and the driver's code that acquired the first one.
struct References {
    count: i64,
    from: u64,
    /// The routine that acquired the first one.
    routine: Option<&'static str>,
}

/// Returns the routine that the driver is calling.
fn routine() -> Option<&'static str> {
    thread::site().map(|site| site.routine)
}

/// Names the rule of Microsoft about a routine whose result was not released.
fn leak(rule: Rule, routine: Option<&str>) -> Breach {
    match routine {
        Some("ZwCreateKey") => rule.named(Wdm::ZwRegistryCreate),
        Some("ZwOpenKey" | "ZwOpenKeyEx") => rule.named(Wdm::ZwRegistryOpen),
        Some("IoGetAttachedDeviceReference") => rule.named(Wdm::DanglingDeviceObjectReference),
        _ => rule.into(),
    }
}

/// The functions of the layers above that the object manager calls.
pub struct Hooks {
    /// Queues a job for a worker thread.
    pub submit: fn(u64, Box<dyn FnOnce() + Send>),
    /// A handle of a registry key was closed.
    pub(crate) key_closed: fn(KernelHandle),
}

static HOOKS: LayerState<Hooks> = LayerState::new();

/// Sets the functions. Later calls have no effect.
pub fn attach(hooks: &'static Hooks) {
    HOOKS.attach(hooks);
}

/// The functions that are called when the last handle to an object is closed, and when its last reference is gone.
#[derive(Clone, Copy)]
pub struct Lifetime {
    /// Called when the last handle is closed.
    pub last_handle: fn(u64),
    /// Called when the last reference is gone.
    pub last_reference: fn(u64),
}

/// The handle table, and the references that the driver holds.
#[derive(Default)]
pub struct Objects {
    /// Objects that are deleted when nothing uses them any more.
    managed: SortedMap<u64, Lifetime>,
    handles: BTreeMap<KernelHandle, Handle>,
    opened: u64,
    /// Objects that only handles, references and names keep alive. All others have one more reference, the system's.
    counted: SortedSet<u64>,
    /// The objects with names.
    pub(super) names: Names,
    references: SortedMap<u64, References>,
    /// The names and targets of the symbolic links that were opened. A handle keeps its link, even if the link is deleted.
    links: Vec<(String, String)>,
    /// The security descriptors that drivers set, by object.
    descriptors: SortedMap<u64, Vec<u8>>,
    /// The token of the local system account, created on first use.
    token: Option<u64>,
}

impl Objects {
    /// Returns the number of open handles, and of objects that the driver references.
    pub fn held(&self) -> usize {
        self.handles.len() + self.references.len()
    }

    /// Adds a handle to the table. Fails if it has `most` handles.
    fn add(&mut self, handle: Handle, most: usize) -> Result<KernelHandle, NtStatus> {
        if self.handles.len() >= most {
            return Err(NO_RESOURCES);
        }
        let value = KernelHandle::after(self.opened);
        self.opened += 1;
        self.handles.insert(value, handle);
        Ok(value)
    }
}

/// Opens a handle to an object. Fails if the handle table is full.
pub fn open(kind: &'static str, object: u64, from: u64) -> Result<KernelHandle, NtStatus> {
    lock(&kernel().objects).add(Handle { kind, object, from, routine: routine() }, MAX_HANDLES)
}

/// Opens a handle to an object that only handles, references and names keep alive.
pub(crate) fn open_counted(kind: &'static str, object: u64, from: u64) -> Result<KernelHandle, NtStatus> {
    lock(&kernel().objects).counted.insert(object);
    open(kind, object, from)
}

/// Makes an object one that is deleted when nothing uses it any more.
pub fn manage(object: u64, lifetime: Lifetime) {
    let mut objects = lock(&kernel().objects);
    objects.managed.insert(object, lifetime);
    objects.counted.insert(object);
}

/// Returns the kind and the object of a handle.
pub(super) fn kind_and_object(handle: KernelHandle) -> Option<(&'static str, u64)> {
    lock(&kernel().objects).handles.get(&handle).map(|handle| (handle.kind, handle.object))
}

/// Returns the number of handles of an object, and the number of handles and references.
pub(super) fn counts(object: u64) -> (u32, u32) {
    lock(&kernel().objects).counts(object)
}

/// Returns the kind of an object that has a handle.
pub(super) fn kind(object: u64) -> Option<&'static str> {
    lock(&kernel().objects).handles.values().find(|handle| handle.object == object).map(|handle| handle.kind)
}

/// Returns the object of a handle, if the handle is of this kind.
pub fn of_kind(handle: KernelHandle, kind: &str) -> Option<u64> {
    let objects = lock(&kernel().objects);
    objects.handles.get(&handle).filter(|handle| handle.kind == kind).map(|handle| handle.object)
}

/// Returns the object of a handle.
pub fn by_handle(handle: KernelHandle) -> Option<u64> {
    lock(&kernel().objects).handles.get(&handle).map(|handle| handle.object)
}

/// Closes a handle.
pub fn close(handle: KernelHandle) -> NtStatus {
    let closed = lock(&kernel().objects).handles.remove(&handle);
    if let Some(closed) = closed {
        if closed.kind == "key" {
            (HOOKS.get().key_closed)(handle);
        }
        last_handle_closed(closed.object);
        return NtStatus::Success;
    }
    verify::find(Rule::BadArgument, format_args!("{:#x} is not an open handle", handle.as_int()));
    NtStatus::InvalidHandle
}

/// Adds a reference of the driver to an object. Returns the new number of handles and references.
pub fn reference(object: u64, from: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.get_or_insert_with(object, || References { count: 0, from, routine: routine() });
    entry.count += 1;
    objects.counts(object).1.into()
}

/// Returns whether the driver has a reference to an object.
pub(crate) fn is_referenced(object: u64) -> bool {
    lock(&kernel().objects).references.contains_key(&object)
}

/// Removes a reference of the driver. Returns the number of handles and references that are left.
pub fn dereference(object: u64) -> u64 {
    let mut objects = lock(&kernel().objects);
    let entry = objects.references.get_or_insert_with(object, || References { count: 0, from: 0, routine: None });
    entry.count -= 1;
    let left = entry.count;
    if left <= 0 {
        objects.references.remove(&object);
    }
    let count = objects.counts(object).1;
    drop(objects);
    if left == 0 {
        end_if_unused(object);
    }
    if left < 0 {
        verify::find(Rule::BadArgument, format_args!("dereferences an object that it has not referenced"));
    }
    count.into()
}

/// Called after a handle to an object was closed. Does nothing if the driver has another one. No lock is held while the
/// driver is called.
pub fn last_handle_closed(object: u64) {
    let lifetime = {
        let mut objects = lock(&kernel().objects);
        if objects.is_open(object) {
            return;
        }
        objects.names.release(object);
        objects.managed.get(&object).copied()
    };
    if let Some(lifetime) = lifetime {
        (lifetime.last_handle)(object);
        end_if_unused(object);
    }
}

/// Deletes an object without handles and references. No lock is held while its driver is called, which is always at
/// `PASSIVE_LEVEL`: Windows defers the deletion if the last reference is released at a higher IRQL.
pub(crate) fn end_if_unused(object: u64) {
    let ended = {
        let mut objects = lock(&kernel().objects);
        let used = objects.references.contains_key(&object) || objects.is_open(object);
        if used { None } else { objects.managed.remove(&object) }
    };
    match ended {
        Some(lifetime) if thread::irql() > PASSIVE => {
            (HOOKS.get().submit)(object, Box::new(move || (lifetime.last_reference)(object)));
        }
        Some(lifetime) => (lifetime.last_reference)(object),
        None => {}
    }
}

/// Frees the memory of an object of the host when the driver has no references and handles to it.
pub fn free_when_unused(object: u64) {
    const MEMORY: Lifetime =
        Lifetime { last_handle: |_| (), last_reference: |object| lock(&kernel().pool).free_object(object) };
    manage(object, MEMORY);
    end_if_unused(object);
}

impl Objects {
    fn counts(&self, object: u64) -> (u32, u32) {
        let handles = self.handles.values().filter(|known| known.object == object).count() as u32;
        let references = self.references.get(&object).map_or(0, |known| u32::try_from(known.count).unwrap_or_default());
        let by_system = !self.counted.contains(&object) || self.names.contains(object);
        (handles, handles + references + u32::from(by_system))
    }

    /// Makes the name of an object stay without handles, or not.
    pub(super) fn set_permanent(&mut self, object: u64, permanent: bool) {
        self.names.set_permanent(object, permanent);
        if !self.handles.values().any(|known| known.object == object) {
            self.names.release(object);
        }
    }

    /// Returns the path of an object with a name, and whether the object is a file.
    pub(super) fn path_or_file(&self, object: u64) -> (Option<String>, bool) {
        (self.names.path_of(object), self.managed.contains_key(&object))
    }

    /// Returns the object of a symbolic link.
    pub fn link(&mut self, name: String, target: String) -> u64 {
        let link = (name, target);
        let position = self.links.iter().position(|known| *known == link).unwrap_or_else(|| {
            self.links.push(link);
            self.links.len() - 1
        });
        position as u64 + 1
    }

    /// Returns what the symbolic link of an object leads to.
    pub fn target(&self, link: u64) -> String {
        self.links.get(link as usize - 1).map(|(_, target)| target.clone()).unwrap_or_default()
    }

    /// Returns the security descriptor that was set for an object.
    pub fn descriptor(&self, object: u64) -> Option<Vec<u8>> {
        self.descriptors.get(&object).cloned()
    }

    pub(crate) fn set_descriptor(&mut self, object: u64, descriptor: Vec<u8>) {
        self.descriptors.insert(object, descriptor);
    }

    pub(crate) const fn token(&self) -> Option<u64> {
        self.token
    }

    pub(crate) const fn set_token(&mut self, token: u64) {
        self.token = Some(token);
    }

    /// Returns whether there is a handle to an object.
    fn is_open(&self, object: u64) -> bool {
        self.handles.values().any(|handle| handle.object == object)
    }

    /// Reports open handles and references of an image, and forgets them.
    pub fn report_leaks(&mut self, leaving: Leaving) {
        if leaving.is_last() {
            self.managed.clear();
        }
        self.names.report_leaks(leaving);
        for (_, Handle { kind, from, routine, .. }) in
            self.handles.extract_if(.., |_, handle| leaving.owns(handle.from))
        {
            let what = format_args!("does not close a handle ({kind})");
            verify::find_at(leak(Rule::HandleLeak, routine), None, from, what);
        }
        let left = self.references.extract_if(|_, references| leaving.owns(references.from));
        for (_, References { count, from, routine }) in left {
            let plural = if count == 1 { "" } else { "s" };
            let what = format_args!("does not release {count} reference{plural} to an object");
            verify::find_at(leak(Rule::ObjectLeak, routine), None, from, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Handle, Objects};
    use nt_verifier::routine::NO_RESOURCES;

    #[test]
    fn a_full_table_is_a_status_and_a_closed_handle_makes_room() {
        let mut objects = Objects::default();
        let open = |objects: &mut Objects| objects.add(Handle { kind: "event", object: 1, from: 0, routine: None }, 2);
        let first = open(&mut objects).unwrap();
        let second = open(&mut objects).unwrap();
        assert_ne!(first, second);
        assert_eq!(open(&mut objects), Err(NO_RESOURCES));
        objects.handles.remove(&first);
        let third = open(&mut objects).unwrap();
        assert!(third != first, "a handle that was closed stays invalid");
        assert!(third != second, "a handle that was closed stays invalid");
    }
}
