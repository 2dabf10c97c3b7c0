//! `BUS_INTERFACE_STANDARD`: routines of the bus driver that a driver calls directly.

use etw_types::Guid;
use nt_processor::layout::{BUS_INTERFACE_STANDARD, INTERFACE};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, Out, PASSIVE, Routine, routines};
use nt_verifier::verify::gap;
use windows_constants::plug_play::{GUID_BUS_INTERFACE_STANDARD, PCI_WHICHSPACE_CONFIG};

use super::space::{read, write};
use crate::{Kernel, kernel};

/// The identifier of the interface.
pub(crate) const ID: Guid = Guid::from_u128(GUID_BUS_INTERFACE_STANDARD);
/// The interface has one version.
const VERSION: u16 = 1;
/// The names of the routines, which no driver can import.
pub(crate) const REFERENCE: &str = "(bus reference)";
pub(crate) const DEREFERENCE: &str = "(bus dereference)";
const TRANSLATE: &str = "(bus translate address)";
const ADAPTER: &str = "(bus DMA adapter)";
const SET: &str = "(bus set data)";
const GET: &str = "(bus get data)";

/// The families of routines.
pub(crate) const ROUTINES: &[&[Routine]] = &[FUNCTIONS];

routines! { FUNCTIONS;
    #[irql(DISPATCH), named(TRANSLATE)]
    fn translate(
        _context: Ignored<GuestPtr<Opaque>>,
        address: i64,
        _length: Ignored<u32>,
        _space: Ignored<GuestPtr<u32>>,
        translated: Out<i64>,
    ) -> Result<bool, Fault> {
        translated.set(address)?;
        Ok(true)
    }

    /// The host's devices have no DMA. A driver must handle NULL.
    #[irql(PASSIVE), named(ADAPTER)]
    fn adapter(
        _context: Ignored<GuestPtr<Opaque>>,
        _description: Ignored<GuestPtr<Opaque>>,
        _registers: Ignored<GuestPtr<u32>>,
    ) -> GuestPtr<Opaque> {
        gap::note("the driver asked for a DMA adapter: nt-host has none, and no option adds one".to_owned());
        GuestPtr::NULL
    }

    #[irql(DISPATCH), named(SET)]
    fn set_data(
        _context: Ignored<GuestPtr<Opaque>>,
        kind: u32,
        buffer: GuestPtr<u8>,
        offset: u32,
        length: u32,
    ) -> Result<u32, Fault> {
        if kind == PCI_WHICHSPACE_CONFIG { write(buffer, offset, length) } else { Ok(0) }
    }

    #[irql(DISPATCH), named(GET)]
    fn get_data(
        _context: Ignored<GuestPtr<Opaque>>,
        kind: u32,
        buffer: GuestPtr<u8>,
        offset: u32,
        length: u32,
    ) -> Result<u32, Fault> {
        if kind == PCI_WHICHSPACE_CONFIG { read(buffer, offset, length) } else { Ok(0) }
    }
}

/// Stores the interface. Returns its context, or `None` if the driver has no room for it.
pub(crate) fn provide(place: GuestPtr<INTERFACE>, room: u16) -> Result<Option<u64>, Fault> {
    let Kernel { table, .. } = kernel();
    let size = size_of::<BUS_INTERFACE_STANDARD>() as u16;
    if room < size {
        return Ok(None);
    }
    let context = table.page_table();
    let routine = |name: &str| GuestPtr::<Code>::new(table.address(name).unwrap_or_default());
    place.cast::<BUS_INTERFACE_STANDARD>().write(BUS_INTERFACE_STANDARD {
        Size: size,
        Version: VERSION,
        Padding: 0,
        Context: context,
        InterfaceReference: routine(REFERENCE),
        InterfaceDereference: routine(DEREFERENCE),
        TranslateBusAddress: routine(TRANSLATE),
        GetDmaAdapter: routine(ADAPTER),
        SetBusData: routine(SET),
        GetBusData: routine(GET),
    })?;
    Ok(Some(context))
}
