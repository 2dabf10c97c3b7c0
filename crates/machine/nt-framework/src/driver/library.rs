//! A framework, or a class extension, that is an image of its own: what WDFLDR.SYS does between such a library and the
//! drivers that bind to it.
//!
//! A framework passes `WDF_LIBRARY_INFO` to `WdfRegisterLibrary`. From then on, drivers are bound to it and not to the
//! model in this crate. The structures are those of Microsoft's public framework source (shared/inc/private/common/fxldr.h)
//! and, for class extensions, of the public symbols of WDFLDR.SYS.

use etw_types::NtStatus;
use nt_kernel::{call_back, kernel, lock};
use nt_processor::image;
use nt_processor::layout::{
    CLIENT_INFO, DRIVER_OBJECT, UNICODE_STRING, WDF_BIND_INFO, WDF_BIND_INFO2, WDF_CLASS_BIND_INFO,
    WDF_CLASS_LIBRARY_INFO, WDF_LIBRARY_INFO,
};
use nt_processor::memory::{Code, GuestPtr, Opaque, Region};
use nt_processor::memory::{Fault, OrStop as _};
use nt_verifier::routine::{Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::registry::REG_DWORD;
use windows_releases::{Client, Kmdf};

use crate::state::with;

/// The key with the values that `WdfLdrDiagnosticsValueByNameAsULONG` reads.
const DIAGNOSTICS: &str = r"\Registry\Machine\System\CurrentControlSet\Control\Wdf\Kmdf\Diagnostics";

type Globals = GuestPtr<Opaque>;
type Library = GuestPtr<WDF_LIBRARY_INFO>;

routines! { pub(crate) ROUTINES;
    #[irql(PASSIVE)]
    fn WdfRegisterLibrary(
        info: GuestPtr<WDF_LIBRARY_INFO>,
        _service: Ignored<GuestPtr<UNICODE_STRING>>,
        _device: Ignored<GuestPtr<UNICODE_STRING>>,
    ) -> Outcome {
        if info.Size().read()? as usize != size_of::<WDF_LIBRARY_INFO>() {
            return fail(NtStatus::InvalidParameter);
        }
        call("LibraryCommission", info.LibraryCommission().read()?, &[]).ok()?;
        with(|framework| framework.libraries.frameworks.push(info));
        done(())
    }

    #[irql(PASSIVE)]
    fn WdfRegisterClassLibrary(
        info: GuestPtr<WDF_CLASS_LIBRARY_INFO>,
        service: GuestPtr<UNICODE_STRING>,
        _device: Ignored<GuestPtr<UNICODE_STRING>>,
    ) -> Outcome {
        if info.Size().read()? as usize != size_of::<WDF_CLASS_LIBRARY_INFO>() {
            return fail(NtStatus::InvalidParameter);
        }
        if let Some(routine) = info.ClassLibraryInitialize().read()?.non_null() {
            call("ClassLibraryInitialize", routine, &[]).ok()?;
        }
        let path = service.text()?;
        let name = path.rsplit('\\').next().unwrap_or_default().to_owned();
        with(|framework| framework.libraries.classes.push((name, info)));
        done(())
    }

    #[irql(PASSIVE)]
    fn WdfVersionBindClass(
        _bind: Ignored<GuestPtr<WDF_BIND_INFO>>,
        globals: Globals,
        info: GuestPtr<WDF_CLASS_BIND_INFO>,
    ) -> Outcome {
        let Some(library) = class(info)? else { return fail(NtStatus::ObjectNameNotFound) };
        let routine = library.ClassLibraryBindClient().read()?;
        Ok(call("ClassLibraryBindClient", routine, &[info.address(), globals.address()]).ok()?)
    }

    #[irql(PASSIVE)]
    fn WdfVersionUnbindClass(
        _bind: Ignored<GuestPtr<WDF_BIND_INFO>>,
        globals: Globals,
        info: GuestPtr<WDF_CLASS_BIND_INFO>,
    ) -> Result<(), Fault> {
        if let Some(library) = class(info)? {
            let routine = library.ClassLibraryUnbindClient().read()?;
            call_back("ClassLibraryUnbindClient", PASSIVE, routine, &[info.address(), globals.address()]);
        }
        Ok(())
    }

    #[irql(PASSIVE)]
    fn WdfLdrDiagnosticsValueByNameAsULONG(name: GuestPtr<UNICODE_STRING>, value: Out<u32>) -> Outcome {
        value.set(0)?;
        let name = name.text()?;
        let found = {
            let mut registry = lock(&kernel().registry);
            registry.key(DIAGNOSTICS, false).and_then(|key| registry.value(key, &name))
        };
        match found.as_ref().map(|(kind, data)| (*kind, data.first_chunk::<4>())) {
            Some((REG_DWORD, Some(bytes))) => Ok(value.set(u32::from_le_bytes(*bytes))?),
            Some(_) => fail(NtStatus::ObjectTypeMismatch),
            None => fail(NtStatus::ObjectNameNotFound),
        }
    }

    /// The interfaces of the loader are for debuggers and for the framework's own tools.
    #[irql(PASSIVE), fixed]
    fn WdfLdrQueryInterface(_interface: Ignored<GuestPtr<Opaque>>) -> NtStatus {
        NtStatus::NotSupported
    }
}

/// Returns whether a framework has registered.
pub fn has_library() -> bool {
    with(|framework| !framework.libraries.frameworks.is_empty())
}

fn call(what: &'static str, routine: GuestPtr<Code>, arguments: &[u64]) -> NtStatus {
    NtStatus::from_int(call_back(what, PASSIVE, routine, arguments) as u32)
}

/// Returns the library of a class. Windows finds its service in the registry; here, the name of the service begins with
/// the name of the class, or there is only one library.
fn class(info: GuestPtr<WDF_CLASS_BIND_INFO>) -> Result<Option<GuestPtr<WDF_CLASS_LIBRARY_INFO>>, Fault> {
    let wanted = info.ClassName().read()?.text()?.to_ascii_lowercase();
    Ok(with(|framework| {
        let classes = &framework.libraries.classes;
        let by_name = classes.iter().find(|(name, _)| name.to_ascii_lowercase().starts_with(&wanted));
        let only = if let [only] = classes.as_slice() { Some(only) } else { None };
        by_name.or(only).map(|(_, library)| *library)
    }))
}

/// Returns what a driver says about the framework that it needs.
pub(crate) fn client(place: GuestPtr<WDF_BIND_INFO>) -> Result<Client, Fault> {
    let info = place.read()?;
    let extension = place.cast::<WDF_BIND_INFO2>();
    let minimum = if info.Size as usize == size_of::<WDF_BIND_INFO2>() {
        Some(extension.MinimumVersionRequired().read()?.read()?)
    } else {
        None
    };
    Ok(Client { major: info.Major, minor: info.Minor, functions: info.FuncCount, minimum })
}

/// Binds a driver to a framework that has registered. Returns `false` if none has. `from` is the address of the call.
pub(crate) fn bind(
    from: u64,
    driver: GuestPtr<DRIVER_OBJECT>,
    path: GuestPtr<UNICODE_STRING>,
    info: GuestPtr<WDF_BIND_INFO>,
    globals: Globals,
) -> Outcome<bool> {
    let wanted = client(info)?;
    let Some(library) = library_for(wanted, from)? else { return Ok(false) };
    register(library, wanted, (driver, path), info, globals)?;
    with(|framework| framework.libraries.bound.push((info, library)));
    Ok(true)
}

/// Returns the oldest framework that has the version that a driver was built for; otherwise the newest one. A framework
/// does not bind to itself.
fn library_for(client: Client, from: u64) -> Result<Option<Library>, Fault> {
    let mut libraries = Vec::new();
    let is_other = |library: &Library| image::base_of(library.address()) != image::base_of(from);
    for library in with(|framework| framework.libraries.frameworks.clone()).into_iter().filter(is_other) {
        libraries.push((library.Minor().read()?, library));
    }
    libraries.sort_unstable_by_key(|(minor, _)| *minor);
    let fits = libraries.iter().find(|(minor, _)| *minor >= client.minor);
    Ok(fits.or(libraries.last()).map(|(_, library)| *library))
}

fn register(
    library: Library,
    wanted: Client,
    (driver, path): (GuestPtr<DRIVER_OBJECT>, GuestPtr<UNICODE_STRING>),
    info: GuestPtr<WDF_BIND_INFO>,
    globals: Globals,
) -> Outcome {
    let (client, context) = {
        let mut pool = lock(&kernel().pool);
        (pool.try_new_object::<CLIENT_INFO>()?, pool.try_new_object::<GuestPtr<CLIENT_INFO>>()?)
    };
    // The framework reads the driver's `Parameters\Wdf` key by this path.
    let size = size_of::<CLIENT_INFO>() as u32;
    client.write(CLIENT_INFO { Size: size, Padding: 0, RegistryPath: path, DriverObject: driver })?;
    context.write(client)?;
    let arguments = [info.address(), globals.address(), context.address()];
    let status = call("LibraryRegisterClient", library.LibraryRegisterClient().read()?, &arguments);
    {
        let mut pool = lock(&kernel().pool);
        pool.free_object(client.address());
        pool.free_object(context.address());
    }
    if !status.is_success() {
        *lock(&kernel().refusal) = Some(refusal(library, wanted, status)?);
    }
    Ok(status.ok()?)
}

/// Explains why a framework does not bind a driver.
fn refusal(library: Library, client: Client, status: NtStatus) -> Result<String, Fault> {
    let name = image::name_at(library.address()).unwrap_or("the framework");
    let minor = library.Minor().read()?;
    let version = Kmdf::RELEASED.into_iter().find(|known| known.minor == minor);
    Ok(match version.map(|version| (version, version.bind(client))) {
        Some((version, Err(refusal))) => refusal.explain_for(client, version, name),
        _ => format!("{name} refused the driver with {status}"),
    })
}

/// Unbinds a driver from its framework. Returns `false` if it is not bound to one that has registered.
pub(crate) fn unbind(info: GuestPtr<WDF_BIND_INFO>, globals: Globals) -> bool {
    let library = with(|framework| {
        let bound = &mut framework.libraries.bound;
        let position = bound.iter().position(|(known, _)| *known == info)?;
        Some(bound.remove(position).1)
    });
    let Some(library) = library else { return false };
    let routine = library.LibraryUnregisterClient().read().or_stop();
    call_back("LibraryUnregisterClient", PASSIVE, routine, &[info.address(), globals.address()]);
    true
}

/// Called before an image is unloaded: forgets the libraries in it, after they have released what they hold.
pub fn decommission(image: Region) {
    let (frameworks, classes) = with(|framework| {
        let libraries = &mut framework.libraries;
        let classes = libraries.classes.extract_if(.., |(_, info)| image.contains(info.address()));
        let classes: Vec<_> = classes.map(|(_, info)| info).collect();
        let frameworks = libraries.frameworks.extract_if(.., |info| image.contains(info.address()));
        (frameworks.collect::<Vec<_>>(), classes)
    });
    for class in classes {
        if let Some(routine) = class.ClassLibraryDeinitialize().read().or_stop().non_null() {
            call_back("ClassLibraryDeinitialize", PASSIVE, routine, &[]);
        }
    }
    for library in frameworks {
        call_back("LibraryDecommission", PASSIVE, library.LibraryDecommission().read().or_stop(), &[]);
    }
}
