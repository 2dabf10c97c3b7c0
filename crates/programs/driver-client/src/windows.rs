//! Windows: finds the device, opens it, and sends requests.

use std::fmt;
use std::ptr::{null, null_mut};

use etw_types::{Guid, NtStatus, Win32Error};
use windows_sys::Wdk::System::IO::NtDeviceIoControlFile;
use windows_sys::Win32::Devices::DeviceAndDriverInstallation::{
    CM_GET_DEVICE_INTERFACE_LIST_PRESENT, CM_Get_Device_Interface_List_SizeW, CM_Get_Device_Interface_ListW, CONFIGRET,
    CR_SUCCESS,
};
use windows_sys::Win32::Foundation::{
    CloseHandle, GENERIC_READ, GENERIC_WRITE, GetLastError, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{CreateFileW, FILE_SHARE_READ, FILE_SHARE_WRITE, OPEN_EXISTING};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

use crate::{Device, Reply, Request};

/// Why requests cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No device has an interface of the class.
    NoDevice(Guid),
    /// The interfaces of the class cannot be listed. The value is a `CONFIGRET`.
    List(u32),
    /// The device cannot be opened.
    Open(String, Win32Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(class) => {
                write!(
                    f,
                    "no device has an interface of the class {{{class}}}: install the driver, and check that its device has started"
                )
            }
            Self::List(code) => write!(f, "cannot list the device interfaces: CONFIGRET {code:#x}"),
            Self::Open(path, code) => write!(f, "cannot open {path}: {code}"),
        }
    }
}

impl std::error::Error for Error {}

/// Opens the device and sends the requests in their order. `each` gets the replies one by one, so that they are known even if the
/// driver stops the machine.
///
/// # Errors
///
/// If the device cannot be found or opened. A request that the driver refuses is a reply.
pub fn send(device: &Device, requests: &[Request], mut each: impl FnMut(Reply)) -> Result<(), Error> {
    let path = match device {
        Device::Path(path) => path.clone(),
        Device::Interface(class) => first_interface(*class)?,
    };
    let opened = Opened::new(&path)?;
    for request in requests {
        each(opened.send(request));
    }
    Ok(())
}

/// Returns the path of the first present device with an interface of this class.
fn first_interface(class: Guid) -> Result<String, Error> {
    let guid = windows_sys::core::GUID::from_u128(class.to_u128());
    let mut length = 0;
    // SAFETY: both pointers are to values that live during the call; no device id is given.
    let listed = unsafe {
        CM_Get_Device_Interface_List_SizeW(
            &raw mut length,
            &raw const guid,
            null(),
            CM_GET_DEVICE_INTERFACE_LIST_PRESENT,
        )
    };
    check(listed)?;
    let mut units = vec![0_u16; usize::try_from(length).unwrap_or_default().max(1)];
    let room = u32::try_from(units.len()).unwrap_or_default();
    // SAFETY: the buffer has `room` units, and the class lives during the call.
    let listed = unsafe {
        CM_Get_Device_Interface_ListW(
            &raw const guid,
            null(),
            units.as_mut_ptr(),
            room,
            CM_GET_DEVICE_INTERFACE_LIST_PRESENT,
        )
    };
    check(listed)?;
    let first = units.split(|unit| *unit == 0).next().unwrap_or_default();
    if first.is_empty() { Err(Error::NoDevice(class)) } else { Ok(String::from_utf16_lossy(first)) }
}

fn check(result: CONFIGRET) -> Result<(), Error> {
    if result == CR_SUCCESS { Ok(()) } else { Err(Error::List(result)) }
}

/// An open device.
struct Opened(HANDLE);

impl Opened {
    fn new(path: &str) -> Result<Self, Error> {
        let name: Vec<u16> = path.encode_utf16().chain([0]).collect();
        // SAFETY: the name ends with a zero and lives during the call. No security attributes and no template are given. Without
        // FILE_FLAG_OVERLAPPED, requests through the handle are synchronous.
        let handle = unsafe {
            CreateFileW(
                name.as_ptr(),
                GENERIC_READ | GENERIC_WRITE,
                FILE_SHARE_READ | FILE_SHARE_WRITE,
                null(),
                OPEN_EXISTING,
                0,
                null_mut(),
            )
        };
        if handle == INVALID_HANDLE_VALUE {
            // SAFETY: the function only reads a value of this thread.
            let code = unsafe { GetLastError() };
            return Err(Error::Open(path.to_owned(), Win32Error::from_int(code)));
        }
        Ok(Self(handle))
    }

    fn send(&self, request: &Request) -> Reply {
        let mut output = vec![0_u8; usize::try_from(request.output).unwrap_or_default()];
        let mut block = IO_STATUS_BLOCK::default();
        let input_length = u32::try_from(request.input.len()).unwrap_or(u32::MAX);
        // SAFETY: the handle is open and synchronous, so the call ends when the request is complete, and until then the buffers of
        // these lengths and the status block live. No event and no routine is given.
        let status = unsafe {
            NtDeviceIoControlFile(
                self.0,
                null_mut(),
                None,
                null(),
                &raw mut block,
                request.code,
                request.input.as_ptr().cast(),
                input_length,
                output.as_mut_ptr().cast(),
                request.output,
            )
        };
        let information = u64::try_from(block.Information).unwrap_or_default();
        Reply::new(request.clone(), NtStatus::from_int(status.cast_unsigned()), information, &output)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nothing uses it afterwards.
        unsafe { CloseHandle(self.0) };
    }
}
