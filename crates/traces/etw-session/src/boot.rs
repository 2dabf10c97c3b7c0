//! Sessions that Windows starts at boot, as keys of the registry: `AutoLogger` sessions and the Global Logger.
//!
//! Keys, values and limits are those of Microsoft's pages "Configuring and Starting an `AutoLogger` Session" and
//! "Configuring and Starting the Global Logger Session". Every system can write them to a `.reg` file; only Windows has a
//! registry.

use etw_types::Guid;
use etw_types::session::{Enable, Limit, Properties, mode};

use crate::error::Error;
use crate::explain::Call;
use crate::platform;
use crate::registry::{RegistryKey, RegistryValue, reg_file, removal_reg_file};

/// The key of the sessions, below `HKEY_LOCAL_MACHINE`.
const WMI: &str = r"SYSTEM\CurrentControlSet\Control\WMI";
/// The one session at boot that can collect events of the kernel. Its providers enable themselves.
const GLOBAL_LOGGER: &str = "GlobalLogger";
/// Maximum length of a registry key's name, in UTF-16 units.
const MAX_KEY: usize = 255;
/// Maximum number of files that Windows keeps.
const MAX_FILES: u32 = 16;

/// A session that Windows starts at every boot.
///
/// ```
/// use etw_session::{BootSession, Enable, Properties};
/// use etw_types::{Guid, Level};
///
/// let properties = Properties::new("MyDriver-boot").file(r"C:\traces\boot.etl").circular(64);
/// let session = BootSession::new(properties).provider(Guid::from_name("MyDriver"), Enable::new(Level::Verbose)).keep(4);
/// session.check()?;
/// assert!(session.reg_file()?.starts_with("Windows Registry Editor Version 5.00\r\n"));
/// assert!(BootSession::removal_reg_file("MyDriver-boot")?.contains("[-HKEY_LOCAL_MACHINE\\SYSTEM"));
/// # Ok::<(), etw_session::Limit>(())
/// ```
///
/// On Windows, as an administrator:
///
/// ```no_run
/// # let session = etw_session::BootSession::new(etw_session::Properties::new("MyDriver-boot"));
/// use etw_session::BootSession;
///
/// session.install()?;
/// BootSession::uninstall("MyDriver-boot")?;
/// # Ok::<(), etw_session::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootSession {
    /// The session's properties. Without a file, Windows writes to `%SystemRoot%\System32\LogFiles\WMI\NAME.etl`. Without
    /// a GUID, the session gets one that is derived from its name.
    pub properties: Properties,
    /// The providers that Windows enables, and how.
    pub providers: Vec<(Guid, Enable)>,
    /// How many files to keep, each of one boot. With 0, a boot overwrites the file of the last one.
    pub max_files: u32,
}

/// A rule as a sentence without a full stop, and whether it holds.
type Rule = (&'static str, fn(&BootSession) -> bool);

/// The rules for sessions at boot, beside those for every session.
const RULES: &[Rule] = &[
    ("a session at boot cannot number its files: keep the files of several boots", |session| {
        !session.has(mode::NEWFILE)
    }),
    ("a session at boot needs a flush timer of whole seconds", |session| !session.has(mode::USE_MS_FLUSH_TIMER)),
    ("the buffers of a session at boot must be smaller than 1024 KiB", |session| session.properties.buffer_kib < 1024),
    ("appending to a file at boot needs the buffer size of that file", |session| {
        !session.has(mode::APPEND) || session.properties.buffer_kib != 0
    }),
    (r"the file of a session at boot needs a full path on Windows, such as C:\traces\boot.etl", |session| {
        session.file().is_none_or(|file| is_full(&file))
    }),
    ("only the session GlobalLogger can record the kernel's events at boot", |session| {
        session.is_global_logger() || (session.properties.enable_flags == 0 && !session.has(mode::SYSTEM_LOGGER))
    }),
    ("Windows enables no providers for the session GlobalLogger", |session| {
        !session.is_global_logger() || session.providers.is_empty()
    }),
    ("a session at boot needs a provider", |session| session.is_global_logger() || !session.providers.is_empty()),
    ("requests at boot cannot have filters", |session| {
        session.providers.iter().all(|(_, enable)| enable.filters.is_empty())
    }),
];

impl BootSession {
    /// Creates a session with these properties and no providers.
    #[must_use]
    pub const fn new(properties: Properties) -> Self {
        Self { properties, providers: Vec::new(), max_files: 0 }
    }

    /// Adds a provider.
    #[must_use]
    pub fn provider(mut self, provider: Guid, enable: Enable) -> Self {
        self.providers.push((provider, enable));
        self
    }

    /// Keeps the files of this many boots.
    #[must_use]
    pub const fn keep(mut self, files: u32) -> Self {
        self.max_files = files;
        self
    }

    /// Checks every rule.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is violated.
    pub fn check(&self) -> Result<(), Limit> {
        let mut started = self.properties.clone();
        // Only a session at boot can have this mode.
        started.mode &= !mode::NONSTOPPABLE;
        if !self.has(mode::REAL_TIME | mode::BUFFERING) {
            // Windows has a default.
            started.log_file.get_or_insert_default();
        }
        started.check()?;
        check_name(&self.properties.name)?;
        let files = usize::try_from(self.max_files).unwrap_or(usize::MAX);
        Limit::at_most("files to keep", files, usize::try_from(MAX_FILES).unwrap_or(usize::MAX))?;
        RULES.iter().try_for_each(|(rule, holds)| Limit::rule(holds(self), rule))?;
        self.providers.iter().try_for_each(|(_, enable)| enable.check())
    }

    /// Returns the keys, in the order in which they are written. The last one starts the session: one that is written only in
    /// part does not start.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the session violates.
    pub fn keys(&self) -> Result<Vec<RegistryKey>, Limit> {
        self.check()?;
        let path = path(&self.properties.name);
        let session = RegistryKey { path: path.clone(), values: self.values() };
        let providers = self
            .providers
            .iter()
            .map(|(guid, enable)| RegistryKey { path: format!("{path}\\{{{guid}}}"), values: provider_values(enable) });
        let start = RegistryKey { path: path.clone(), values: vec![("Start", RegistryValue::Dword(1))] };
        Ok([session].into_iter().chain(providers).chain([start]).collect())
    }

    /// Returns the text of a `.reg` file that adds the session.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the session violates.
    pub fn reg_file(&self) -> Result<String, Limit> {
        Ok(reg_file(&self.keys()?))
    }

    /// Returns the text of a `.reg` file that removes the session with this name.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be that of a session at boot.
    pub fn removal_reg_file(name: &str) -> Result<String, Limit> {
        check_name(name)?;
        Ok(removal_reg_file(&path(name)))
    }

    /// Adds the session to the registry of this machine. It starts at the next boot. This needs an administrator.
    ///
    /// # Errors
    ///
    /// Fails if the session violates a rule, if the registry already has a session with this name, or if the registry cannot be
    /// written, as on systems other than Windows.
    pub fn install(&self) -> Result<(), Error> {
        platform::add_keys(&self.keys()?).map_err(Error::from_call(Call::Registry))
    }

    /// Removes a session from the registry of this machine. One that runs goes on until it is stopped.
    ///
    /// # Errors
    ///
    /// Fails if the registry has no session with this name, or cannot be written, as on systems other than Windows.
    pub fn uninstall(name: &str) -> Result<(), Error> {
        check_name(name)?;
        platform::remove_key(&path(name)).map_err(Error::from_call(Call::Registry))
    }

    const fn has(&self, bits: u32) -> bool {
        self.properties.mode & bits != 0
    }

    fn is_global_logger(&self) -> bool {
        is_global_logger(&self.properties.name)
    }

    fn file(&self) -> Option<String> {
        self.properties.log_file.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    /// The values of the session, without `Start`. Windows chooses those that are missing.
    fn values(&self) -> Vec<(&'static str, RegistryValue)> {
        let properties = &self.properties;
        let mut values = Vec::new();
        if !self.is_global_logger() {
            let own = || Guid::from_name(&format!("{WMI}\\{}", properties.name));
            let guid = if properties.guid == Guid::ZERO { own() } else { properties.guid };
            values.push(("Guid", RegistryValue::Text(format!("{{{guid}}}"))));
        }
        values.extend(self.file().map(|file| ("FileName", RegistryValue::Text(file))));
        values.push(("LogFileMode", RegistryValue::Dword(properties.mode & !mode::SYSTEM_LOGGER)));
        values.push(("ClockType", RegistryValue::Dword(properties.clock.as_int())));
        let chosen = [
            ("MaxFileSize", properties.maximum_file_size),
            ("FileMax", self.max_files),
            ("BufferSize", properties.buffer_kib),
            ("MinimumBuffers", properties.minimum_buffers),
            ("MaximumBuffers", properties.maximum_buffers),
            ("FlushTimer", properties.flush_timer),
        ];
        let chosen = chosen.into_iter().filter(|(_, value)| *value != 0);
        values.extend(chosen.map(|(name, value)| (name, RegistryValue::Dword(value))));
        if properties.enable_flags != 0 {
            let flags = properties.enable_flags.to_le_bytes().to_vec();
            values.push(("EnableKernelFlags", RegistryValue::Binary(flags)));
        }
        values
    }
}

/// The values of a provider's key.
fn provider_values(enable: &Enable) -> Vec<(&'static str, RegistryValue)> {
    let mut values = vec![
        ("Enabled", RegistryValue::Dword(1)),
        ("EnableLevel", RegistryValue::Dword(enable.level.as_int().into())),
        ("MatchAnyKeyword", RegistryValue::Qword(enable.any)),
    ];
    if enable.all != 0 {
        values.push(("MatchAllKeyword", RegistryValue::Qword(enable.all)));
    }
    if enable.property != 0 {
        values.push(("EnableProperty", RegistryValue::Dword(enable.property)));
    }
    values
}

fn is_global_logger(name: &str) -> bool {
    name.eq_ignore_ascii_case(GLOBAL_LOGGER)
}

/// The path of a session's key.
fn path(name: &str) -> String {
    if is_global_logger(name) { format!("{WMI}\\{GLOBAL_LOGGER}") } else { format!("{WMI}\\Autologger\\{name}") }
}

/// Checks that a name can be that of a key, and of a line in a file.
fn check_name(name: &str) -> Result<(), Limit> {
    let is_name = !name.is_empty() && !name.contains(|character: char| character == '\\' || character.is_control());
    Limit::rule(
        is_name,
        "the name of a session at boot is a registry key: it cannot contain a backslash or control characters",
    )?;
    Limit::no_longer("the session's name", name.encode_utf16().count(), MAX_KEY)
}

/// Whether a path begins with a drive or with a variable such as `%SystemRoot%`.
fn is_full(path: &str) -> bool {
    let mut characters = path.chars();
    match (characters.next(), characters.next(), characters.next()) {
        _ if path.contains(char::is_control) => false,
        (Some('%'), ..) => path.matches('%').count() >= 2,
        (Some(drive), Some(':'), Some('\\')) => drive.is_ascii_alphabetic(),
        _ => false,
    }
}
