//! The names of files, as minifilters query them.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::io::file::{info, volume};
use nt_kernel::pool::Kind;
use nt_kernel::{kernel, lock};
use nt_processor::image::Leaving;
use nt_processor::layout::{FLT_FILE_NAME_INFORMATION, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{APC, FILTER_MANAGER, Ignored, NO_RESOURCES, Out, Outcome, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::file::FO_CLEANUP_COMPLETE;
use windows_constants::filter_manager::{
    FLT_FILE_NAME_DO_NOT_CACHE, FLT_FILE_NAME_NORMALIZED, FLT_FILE_NAME_OPENED,
    FLT_FILE_NAME_QUERY_ALWAYS_ALLOW_CACHE_LOOKUP, FLT_FILE_NAME_QUERY_CACHE_ONLY, FLT_FILE_NAME_QUERY_DEFAULT,
    FLT_FILE_NAME_QUERY_FILESYSTEM_ONLY, FLT_FILE_NAME_SHORT, FLTFL_FILE_NAME_PARSED_EXTENSION,
    FLTFL_FILE_NAME_PARSED_FINAL_COMPONENT, FLTFL_FILE_NAME_PARSED_PARENT_DIR, FLTFL_FILE_NAME_PARSED_STREAM,
};
use windows_constants::request::IRP_MJ_CREATE;

use super::file_system::path_to_open;
use super::state::{Data, File, InstanceId, NameReferences, Stage, state, with};

/// All parts of a name.
const ALL_PARSED: u16 = FLTFL_FILE_NAME_PARSED_FINAL_COMPONENT
    | FLTFL_FILE_NAME_PARSED_EXTENSION
    | FLTFL_FILE_NAME_PARSED_STREAM
    | FLTFL_FILE_NAME_PARSED_PARENT_DIR;
const TAG: [u8; 4] = *b"FMfn";

type Names = GuestPtr<FLT_FILE_NAME_INFORMATION>;

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltInvalidNameRequest)]
    fn FltGetFileNameInformation(&call, data: Data, options: u32, place: Out<Names>) -> Outcome {
        let file = data.Iopb().read()?.TargetFileObject().read()?;
        let known = with(data, |operation| (operation.major, operation.stage, operation.is_opened));
        let is_before_open = known.is_some_and(|(major, _, is_opened)| major == IRP_MJ_CREATE && !is_opened);
        if options & 0xFF == FLT_FILE_NAME_SHORT && known.is_some_and(|(major, stage, _)| major == IRP_MJ_CREATE && stage == Stage::Pre)
        {
            let detail = format_args!("queries the short name before the file is open");
            verify::find(Rule::BadArgument, detail);
            return fail(NtStatus::FltInvalidNameRequest);
        }
        let names = query(file, options, is_before_open, call.from)?;
        place.set(names)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltInvalidNameRequest)]
    fn FltGetFileNameInformationUnsafe(
        &call,
        file: File,
        _instance: Ignored<InstanceId>,
        options: u32,
        place: Out<Names>,
    ) -> Outcome {
        let names = query(file, options, file.FsContext().read()?.is_null(), call.from)?;
        place.set(names)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltGetDestinationFileNameInformation(
        &call,
        _instance: Ignored<InstanceId>,
        file: File,
        _root: Ignored<KernelHandle>,
        name: GuestPtr<u16>,
        length: u32,
        options: u32,
        place: Out<Names>,
    ) -> Outcome {
        if options & 0xFF == FLT_FILE_NAME_SHORT {
            return fail(NtStatus::FltInvalidNameRequest);
        }
        let name = String::from_utf16_lossy(&name.array(u64::from(length) / 2).read()?);
        let Some(path) = info::destination(file.address(), &name) else {
            return fail(NtStatus::InvalidParameter);
        };
        let path = lock(&kernel().io).volume.spelled(&path);
        let names = new(options & 0xFF, &format!("{}{path}", volume::DEVICE), call.from)?;
        place.set(names)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReferenceFileNameInformation(&call, names: Names) {
        change(names, 1, call.from);
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltReleaseFileNameInformation(names: Names) {
        if change(names, -1, 0) == Some(0) {
            state().names.remove(&names);
            lock(&kernel().pool).free_object(names.address());
        }
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltParseFileNameInformation(names: Names) -> Outcome {
        let name = names.Name();
        let units = name.units()?;
        let is_short = names.Format().read()? == FLT_FILE_NAME_SHORT;
        let parts = NameParts::new(&units, !is_short);
        let base = name.Buffer().read()?;
        for (part, (start, end)) in [
            (names.Volume(), parts.volume),
            (names.ParentDir(), parts.dir),
            (names.FinalComponent(), parts.last),
            (names.Stream(), parts.stream),
            (names.Extension(), parts.extension),
        ] {
            store(part, base, start, end)?;
        }
        names.NamesParsed().write(ALL_PARSED)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltParseFileName(
        name: GuestPtr<UNICODE_STRING>,
        extension: GuestPtr<UNICODE_STRING>,
        stream: GuestPtr<UNICODE_STRING>,
        last: GuestPtr<UNICODE_STRING>,
    ) -> Outcome {
        let parts = NameParts::new(&name.units()?, false);
        let base = name.Buffer().read()?;
        for (part, (start, end)) in [(extension, parts.extension), (stream, parts.stream), (last, parts.last)] {
            if !part.is_null() {
                store(part, base, start, end)?;
            }
        }
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltPurgeFileNameInformationCache(_instance: Ignored<InstanceId>, file: Option<File>) -> NtStatus {
        let mut state = state();
        match file {
            Some(file) => drop(state.cached.remove(&file)),
            None => state.cached.clear(),
        }
        NtStatus::Success
    }

    /// No name is tunneled here.
    #[irql(APC), module(FILTER_MANAGER), fixed]
    fn FltGetTunneledName(_data: Ignored<Data>, _names: Ignored<Names>, place: Out<Names>) -> Outcome {
        place.set(GuestPtr::NULL)?;
        done(())
    }
}

/// Returns whether the file system cannot be asked for the name of a file now: after its cleanup.
fn is_unsafe(file: File) -> Result<bool, Fault> {
    Ok(file.Flags().read()? & FO_CLEANUP_COMPLETE != 0)
}

/// Queries the name of a file.
fn query(file: File, options: u32, is_before_open: bool, from: u64) -> Outcome<Names> {
    let format = options & 0xFF;
    let method = options & 0xFF00;
    if !matches!(format, FLT_FILE_NAME_NORMALIZED | FLT_FILE_NAME_OPENED | FLT_FILE_NAME_SHORT)
        || !matches!(
            method,
            FLT_FILE_NAME_QUERY_DEFAULT
                | FLT_FILE_NAME_QUERY_CACHE_ONLY
                | FLT_FILE_NAME_QUERY_FILESYSTEM_ONLY
                | FLT_FILE_NAME_QUERY_ALWAYS_ALLOW_CACHE_LOOKUP
        )
    {
        return fail(NtStatus::InvalidParameter);
    }
    let is_cached = state().cached.contains(&file);
    let is_unsafe = is_unsafe(file)?;
    match method {
        FLT_FILE_NAME_QUERY_CACHE_ONLY if !is_cached => return fail(NtStatus::FltNameCacheMiss),
        FLT_FILE_NAME_QUERY_ALWAYS_ALLOW_CACHE_LOOKUP if is_unsafe && !is_cached => {
            return fail(NtStatus::FltNameCacheMiss);
        }
        FLT_FILE_NAME_QUERY_DEFAULT if is_unsafe => return fail(NtStatus::FltInvalidNameRequest),
        FLT_FILE_NAME_QUERY_FILESYSTEM_ONLY if is_unsafe => {
            let detail = format_args!("queries the file system for the name of a file after its cleanup");
            verify::find(Rule::RequestMisuse, detail);
            return fail(NtStatus::FltInvalidNameRequest);
        }
        _ => {}
    }
    let path = if is_before_open { Some(path_to_open(file)?) } else { None };
    let path = {
        let volume = &mut lock(&kernel().io).volume;
        let path = path.or_else(|| volume.path_of(file.address())).unwrap_or_else(|| r"\".to_owned());
        if format == FLT_FILE_NAME_OPENED { path } else { volume.spelled(&path) }
    };
    let name = if format == FLT_FILE_NAME_SHORT {
        short(path.rsplit('\\').next().unwrap_or_default())
    } else {
        format!("{}{path}", volume::DEVICE)
    };
    if matches!(method, FLT_FILE_NAME_QUERY_DEFAULT | FLT_FILE_NAME_QUERY_ALWAYS_ALLOW_CACHE_LOOKUP)
        && options & FLT_FILE_NAME_DO_NOT_CACHE == 0
        && !is_before_open
    {
        state().cached.insert(file);
    }
    new(format, &name, from)
}

/// Returns the short name of a file: at most eight characters, and three of the extension.
fn short(name: &str) -> String {
    let (stem, extension) = name.rsplit_once('.').map_or((name, None), |(stem, extension)| (stem, Some(extension)));
    if stem.len() <= 8 && extension.is_none_or(|extension| extension.len() <= 3) {
        return name.to_uppercase();
    }
    let first: String = stem.chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    let extension: String = extension.unwrap_or_default().chars().take(3).collect();
    let dot = if extension.is_empty() { "" } else { "." };
    format!("{first}~1{dot}{extension}").to_uppercase()
}

/// Allocates name information with one reference. The name follows the structure.
fn new(format: u32, name: &str, from: u64) -> Outcome<Names> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let size = units.len() as u16 * 2;
    let memory = size_of::<FLT_FILE_NAME_INFORMATION>() as u64 + u64::from(size);
    let names: Names = GuestPtr::new(lock(&kernel().pool).object_as(Kind::Paged, TAG, memory));
    if names.is_null() {
        return fail(NO_RESOURCES);
    }
    names.Size().write(size_of::<FLT_FILE_NAME_INFORMATION>() as u16)?;
    names.Format().write(format)?;
    let buffer = names.after::<u16>();
    buffer.write_all(&units)?;
    names.Name().set(size, size, buffer)?;
    state().names.insert(names, NameReferences { count: 1, from });
    Ok(names)
}

/// Changes the number of references. Returns the new one.
fn change(names: Names, by: i64, from: u64) -> Option<i64> {
    let count = state().names.get_mut(&names).map(|known| {
        known.count += by;
        if by > 0 {
            known.from = from;
        }
        known.count
    });
    if count.is_none() {
        verify::find(Rule::BadArgument, format_args!("{names:#x} is not name information"));
    }
    count
}

/// The parts of a name, each from its first unit to its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct NameParts {
    volume: (usize, usize),
    dir: (usize, usize),
    last: (usize, usize),
    stream: (usize, usize),
    extension: (usize, usize),
}

impl NameParts {
    /// Finds the parts. A name with a volume begins with `\Device\NAME`.
    fn new(name: &[u16], has_volume: bool) -> Self {
        const SEPARATOR: u16 = b'\\' as u16;
        let end = name.len();
        let separators: Vec<usize> = (0..end).filter(|at| name.get(*at) == Some(&SEPARATOR)).collect();
        let volume = if has_volume { separators.get(2).copied().unwrap_or(end) } else { 0 };
        let last = separators.last().map_or(0, |at| at + 1).max(volume);
        let find = |unit: u8, from: usize| {
            (from..end).filter(|at| name.get(*at) == Some(&u16::from(unit))).collect::<Vec<usize>>()
        };
        let stream = find(b':', last).first().copied().unwrap_or(end);
        let dot = find(b'.', last).into_iter().rfind(|at| *at < stream);
        Self {
            volume: (0, volume),
            dir: (volume, last),
            last: (last, end),
            stream: (stream, end),
            extension: dot.map_or((stream, stream), |dot| (dot + 1, stream)),
        }
    }
}

/// Sets a string to a part of another one; to an empty string without a buffer if there is no such part.
fn store(part: GuestPtr<UNICODE_STRING>, base: GuestPtr<u16>, start: usize, end: usize) -> Result<(), Fault> {
    let length = (end - start) as u16 * 2;
    part.set(length, length, if length == 0 { GuestPtr::NULL } else { base.at(start as u64) })
}

/// Reports the name information that an image left, and forgets it.
pub(super) fn report_leaks(leaving: Leaving) {
    let left: Vec<(Names, NameReferences)> = {
        let mut state = state();
        state.names.extract_if(|_, known| leaving.owns(known.from)).collect()
    };
    for (names, NameReferences { count, from }) in left {
        let detail = format_args!("does not release name information (references left: {count})");
        verify::find_at(Rule::ObjectLeak, None, from, detail);
        lock(&kernel().pool).free_object(names.address());
    }
}

#[cfg(test)]
mod tests {
    use super::{NameParts, short};

    fn parts(name: &str, has_volume: bool) -> [String; 5] {
        let units: Vec<u16> = name.encode_utf16().collect();
        let NameParts { volume, dir, last, stream, extension } = NameParts::new(&units, has_volume);
        [volume, dir, last, stream, extension].map(|(start, end)| String::from_utf16_lossy(&units[start..end]))
    }

    #[test]
    fn names_have_the_parts_of_the_documentation() {
        let name = r"\Device\HarddiskVolume1\Docume~1\MyUser\My Documents\TestRe~1.txt:stream1:$DATA";
        let dir = r"\Docume~1\MyUser\My Documents\";
        let last = "TestRe~1.txt:stream1:$DATA";
        assert_eq!(parts(name, true), [r"\Device\HarddiskVolume1", dir, last, ":stream1:$DATA", "txt"]);
        assert_eq!(parts("TestRe~1.txt", false), ["", "", "TestRe~1.txt", "", "txt"]);
        assert_eq!(parts(r"\Device\HarddiskVolume1\a", true), [r"\Device\HarddiskVolume1", r"\", "a", "", ""]);
        assert_eq!(parts(r"\Device\HarddiskVolume1", true), [r"\Device\HarddiskVolume1", "", "", "", ""]);
    }

    #[test]
    fn long_names_have_short_ones() {
        assert_eq!(short("a.txt"), "A.TXT");
        assert_eq!(short("Test Results.html"), "TESTRE~1.HTM");
    }
}
