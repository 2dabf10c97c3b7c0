//! Setting information on a registration: `EtwSetInformation`, and Windows versions without it.

use core::ffi::c_void;
use core::ptr;

use etw_types::EventInfoClass;

use super::Provider;
use crate::backend::Mode;

/// How a provider calls `EtwSetInformation` (in user mode `EventSetInformation`).
///
/// The routine does not exist on every Windows that can run a driver: Windows 7 lacks it. The three ways are those that
/// `TraceLoggingSetInformation` documents for its macro `TLG_HAVE_EVENT_SET_INFORMATION` (0, 1 and 2).
///
/// [`define_provider!`](crate::define_provider) takes the mode of a provider, or the version of Windows that the provider
/// is for. Without either, the [settings of the build](crate::define_provider#the-settings-of-a-build) decide; without
/// these, the mode is [`Lookup`](Self::Lookup).
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{SetInformationMode, define_provider};
///
/// // Import the routine: for drivers that load on Windows 10 and later only.
/// define_provider!(PROVIDER, "MyCompany.MyDriver", set_information(Direct));
/// assert_eq!(SetInformationMode::for_ntddi(0x0A00_0000), SetInformationMode::Direct);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInformationMode {
    /// Never call it. Kernel mode returns `STATUS_ENTRYPOINT_NOT_FOUND`, user mode
    /// `HRESULT_FROM_WIN32(ERROR_NOT_SUPPORTED)`.
    #[doc(alias = "TLG_HAVE_EVENT_SET_INFORMATION=0")]
    Off,
    /// Import it: the image does not load on a Windows without it.
    #[doc(alias = "TLG_HAVE_EVENT_SET_INFORMATION=1")]
    Direct,
    /// Find it at run time. If it is missing, kernel mode returns `STATUS_NOT_SUPPORTED`, user mode
    /// `HRESULT_FROM_WIN32(ERROR_NOT_SUPPORTED)`.
    #[doc(alias("TLG_HAVE_EVENT_SET_INFORMATION=2", "MmGetSystemRoutineAddress", "GetProcAddress"))]
    Lookup,
}

impl SetInformationMode {
    /// The first `NTDDI_VERSION` for which the headers import the routine.
    const DIRECT_FROM_NTDDI: u32 = 0x0604_0000;
    /// The first `WINVER` for which the headers import the function.
    const DIRECT_FROM_WINVER: u32 = 0x0602;

    /// Returns the documented default for a driver that targets `ntddi_version` and later.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::SetInformationMode;
    ///
    /// assert_eq!(SetInformationMode::for_ntddi(0x0601_0000), SetInformationMode::Lookup, "Windows 7");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[doc(alias = "NTDDI_VERSION")]
    pub const fn for_ntddi(ntddi_version: u32) -> Self {
        if ntddi_version < Self::DIRECT_FROM_NTDDI { Self::Lookup } else { Self::Direct }
    }

    /// Returns the documented default for a program that targets `winver` and later.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::SetInformationMode;
    ///
    /// assert_eq!(SetInformationMode::for_winver(0x0602), SetInformationMode::Direct, "Windows 8");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[doc(alias = "WINVER")]
    pub const fn for_winver(winver: u32) -> Self {
        if winver < Self::DIRECT_FROM_WINVER { Self::Lookup } else { Self::Direct }
    }
}

/// Returns the mode for the settings of a build, in kernel mode: that of `TLG_HAVE_EVENT_SET_INFORMATION`, otherwise the
/// default for the target version, otherwise lookup, which works for every target.
///
/// For the macros, which evaluate it in constants: a setting that is not valid is an error of the compiler.
#[doc(hidden)]
#[must_use]
pub const fn set_information_in_kernel(chosen: Option<&str>, ntddi_version: Option<&str>) -> SetInformationMode {
    if let Some(mode) = chosen_mode(chosen) {
        return mode;
    }
    match given(ntddi_version) {
        Some(version) => SetInformationMode::for_ntddi(number(
            version,
            "WDK_ETW_NTDDI_VERSION is not a number of 32 bits; for example, it is 0x0A000000 for Windows 10",
        )),
        None => SetInformationMode::Lookup,
    }
}

/// [`set_information_in_kernel`] for user mode.
#[doc(hidden)]
#[must_use]
pub const fn set_information_in_user(chosen: Option<&str>, winver: Option<&str>) -> SetInformationMode {
    if let Some(mode) = chosen_mode(chosen) {
        return mode;
    }
    match given(winver) {
        Some(version) => SetInformationMode::for_winver(number(
            version,
            "WDK_ETW_WINVER is not a number of 32 bits; for example, it is 0x0A00 for Windows 10",
        )),
        None => SetInformationMode::Lookup,
    }
}

/// Returns the mode that a build chooses by its number.
#[expect(clippy::panic, reason = "evaluated in constants only")]
const fn chosen_mode(chosen: Option<&str>) -> Option<SetInformationMode> {
    const WRONG: &str = "WDK_ETW_SET_INFORMATION is not 0 (off), 1 (direct) or 2 (lookup)";
    match given(chosen) {
        None => None,
        Some(chosen) => match number(chosen, WRONG) {
            0 => Some(SetInformationMode::Off),
            1 => Some(SetInformationMode::Direct),
            2 => Some(SetInformationMode::Lookup),
            _ => panic!("{}", WRONG),
        },
    }
}

/// An empty setting is none, so that a build can undo that of an outer one.
const fn given(setting: Option<&str>) -> Option<&str> {
    match setting {
        Some(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Reads a number as C and Rust write it: decimal, or hexadecimal after `0x`.
#[expect(clippy::panic, reason = "evaluated in constants only")]
const fn number(text: &str, otherwise: &str) -> u32 {
    let value = match text.as_bytes() {
        [b'0', b'x' | b'X', digits @ ..] => digits_to_int(digits, 16),
        digits => digits_to_int(digits, 10),
    };
    match value {
        Some(value) => value,
        None => panic!("{}", otherwise),
    }
}

const fn digits_to_int(digits: &[u8], radix: u32) -> Option<u32> {
    match core::str::from_utf8(digits) {
        Ok(digits) => match u32::from_str_radix(digits, radix) {
            Ok(value) => Some(value),
            Err(_) => None,
        },
        Err(_) => None,
    }
}

/// # Setting information
///
/// All of these functions return the status of the routine, or the status that the provider's [`SetInformationMode`]
/// prescribes without calling it. If the provider is not registered, the handle is 0, so kernel mode returns
/// `STATUS_INVALID_HANDLE`. The exceptions are `STATUS_NOT_SUPPORTED` if the routine is missing (it is looked up
/// first), and `STATUS_ENTRYPOINT_NOT_FOUND` if the mode is off.
impl<M: Mode> Provider<M> {
    /// Performs any operation of [`EventInfoClass`].
    ///
    /// Empty `data` is passed as a null pointer and length 0, as operations without data require.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::{EventInfoClass, NtStatus};
    ///
    /// let status = PROVIDER.set_information(EventInfoClass::BinaryTrackInfo, &[]);
    /// assert_eq!(status, NtStatus::InvalidHandle, "it is not registered");
    /// ```
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[doc(alias("TraceLoggingSetInformation", "EtwSetInformation", "EventSetInformation"))]
    pub fn set_information(&self, class: EventInfoClass, data: &[u8]) -> M::Status {
        let Ok(length) = u32::try_from(data.len()) else {
            return <M::Status as crate::Status>::INVALID_PARAMETER;
        };
        let pointer = if data.is_empty() { ptr::null() } else { data.as_ptr().cast::<c_void>() };
        let call = |handle| {
            // SAFETY: the handle is 0 or that of this registration, which the contract of `register` or rundown protection
            // keeps alive during the call, and `data` is readable for `length` bytes.
            unsafe { (self.set_information)(handle, class.as_int(), pointer, length) }
        };
        // After the end of a registration there is no handle, in a protected mode, too.
        self.with_handle(None, |handle| Some(call(handle))).unwrap_or_else(|| call(0))
    }

    /// Sets the provider's traits from a blob (see [`etw_types::traits`]). Registration already does this. ETW rejects
    /// a second blob for the same registration with `STATUS_UNSUCCESSFUL`.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::NtStatus;
    ///
    /// assert_eq!(PROVIDER.set_traits(b"\x04\0A\0"), NtStatus::InvalidHandle, "it is not registered");
    /// ```
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[doc(alias = "EventProviderSetTraits")]
    pub fn set_traits(&self, traits: &[u8]) -> M::Status {
        self.set_information(EventInfoClass::SetTraits, traits)
    }

    /// Sets whether ETW reads the type of this provider's data descriptors. Setting the traits enables this.
    ///
    /// If it is disabled, the metadata of TraceLogging events is stored with their payload, and decoders recognise it
    /// by channel 11.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # // SAFETY: nothing else runs.
    /// # unsafe { PROVIDER.register() };
    /// assert!(PROVIDER.use_descriptor_type(true).is_success());
    /// # PROVIDER.unregister();
    /// ```
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[doc(alias = "EventProviderUseDescriptorType")]
    pub fn use_descriptor_type(&self, on: bool) -> M::Status {
        self.set_information(EventInfoClass::UseDescriptorType, &[u8::from(on)])
    }

    /// Makes ETW record the path of this image in the sessions that collect events of this provider, so that decoders
    /// find the manifest resources in it. Older systems return `STATUS_INVALID_DEVICE_REQUEST` in kernel mode.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::NtStatus;
    ///
    /// assert_eq!(PROVIDER.track_binary(), NtStatus::InvalidHandle, "it is not registered");
    /// ```
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[doc(alias = "EventProviderBinaryTrackInfo")]
    pub fn track_binary(&self) -> M::Status {
        self.set_information(EventInfoClass::BinaryTrackInfo, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::{SetInformationMode, set_information_in_kernel, set_information_in_user};

    #[test]
    fn a_build_chooses_by_number_and_else_by_its_target() {
        use SetInformationMode::{Direct, Lookup, Off};
        for (chosen, version, expected) in [
            (None, None, Lookup),
            (Some(""), Some(""), Lookup),
            (None, Some("0x06010000"), Lookup),
            (None, Some("0x06040000"), Direct),
            (None, Some("0X0A00000C"), Direct),
            (None, Some("167772160"), Direct),
            (Some("0"), Some("0x0A000000"), Off),
            (Some("1"), Some("0x06010000"), Direct),
            (Some("2"), Some("0x0A000000"), Lookup),
        ] {
            assert_eq!(set_information_in_kernel(chosen, version), expected, "{chosen:?} {version:?}");
        }
        for (chosen, version, expected) in [
            (None, None, Lookup),
            (None, Some("0x0601"), Lookup),
            (None, Some("0x0602"), Direct),
            (Some("0"), None, Off),
        ] {
            assert_eq!(set_information_in_user(chosen, version), expected, "{chosen:?} {version:?}");
        }
    }

    #[test]
    #[should_panic(expected = "WDK_ETW_SET_INFORMATION is not 0 (off), 1 (direct) or 2 (lookup)")]
    fn an_unknown_mode_is_an_error() {
        let _ = set_information_in_kernel(Some("3"), None);
    }

    #[test]
    #[should_panic(expected = "WDK_ETW_NTDDI_VERSION is not a number of 32 bits")]
    fn a_version_that_is_no_number_is_an_error() {
        let _ = set_information_in_kernel(None, Some("WIN10"));
    }

    #[test]
    fn the_default_follows_the_documented_versions() {
        assert_eq!(SetInformationMode::for_ntddi(0x0601_0000), SetInformationMode::Lookup);
        assert_eq!(SetInformationMode::for_ntddi(0x0603_0000), SetInformationMode::Lookup);
        assert_eq!(SetInformationMode::for_ntddi(0x0604_0000), SetInformationMode::Direct);
        assert_eq!(SetInformationMode::for_ntddi(0x0A00_0000), SetInformationMode::Direct);
        assert_eq!(SetInformationMode::for_winver(0x0601), SetInformationMode::Lookup);
        assert_eq!(SetInformationMode::for_winver(0x0602), SetInformationMode::Direct);
    }
}
