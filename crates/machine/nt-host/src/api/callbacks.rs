//! Calls of the driver's functions by the framework and the kernel.

use std::fmt;

use nt_machine::{Callbacks, ImageOffset};

use crate::{Location, NtHost};

/// A call of a function of the driver that the driver did not make itself: of its entry point, of a callback or of a
/// dispatch routine.
///
/// ```no_run
/// use nt_host::{Callback, NtHost};
///
/// let host = NtHost::builder().driver("my_driver.sys").record_callbacks().start()?;
/// host.add_device()?.read(16)?;
/// host.unload()?.assert_clean();
/// let callbacks: Vec<Callback> = host.callbacks();
/// let read = callbacks.iter().find(|call| call.location.symbol.as_deref() == Some("EvtIoRead")).expect("a read");
/// assert_eq!(read.irql, 0);
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// The function.
    pub location: Location,
    /// The IRQL at which it was called.
    pub irql: u8,
}

impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location.symbol {
            Some(symbol) => f.write_str(symbol)?,
            None => write!(f, "image+{:#x}", self.location.rva)?,
        }
        write!(f, " at IRQL {}", self.irql)
    }
}

impl NtHost {
    /// Returns the calls of the driver's functions so far, in their order: at most the first 65,536. Empty without
    /// [`Builder::record_callbacks`](crate::Builder::record_callbacks).
    #[must_use]
    pub fn callbacks(&self) -> Vec<Callback> {
        let calls = self.recorded().map(Callbacks::calls).unwrap_or_default();
        let location =
            |rva| self.inner.images.locations(ImageOffset { image: 0, rva }, false).pop().unwrap_or_default();
        calls.into_iter().map(|call| Callback { location: location(call.rva), irql: call.irql }).collect()
    }

    /// Returns what was recorded, if callbacks are.
    pub(super) fn recorded(&self) -> Option<&Callbacks> {
        self.inner.callbacks.as_ref()
    }
}
