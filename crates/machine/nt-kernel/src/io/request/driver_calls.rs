//! The routines with which drivers send and complete IRPs.

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, IRP};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Ignored, routines};

use super::{contract, rules};
use crate::io::request::{complete, descend, dispatch};
use crate::{kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn IofCallDriver(device: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
        send(device, irp)
    }

    #[irql(DISPATCH)]
    fn IoCallDriver(device: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
        send(device, irp)
    }

    #[irql(DISPATCH)]
    fn PoCallDriver(device: GuestPtr<DEVICE_OBJECT>, irp: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
        send(device, irp)
    }

    #[irql(DISPATCH)]
    fn IofCompleteRequest(irp: GuestPtr<IRP>, _boost: Ignored<i8>) -> Result<(), Fault> {
        complete_for_driver(irp)
    }

    #[irql(DISPATCH)]
    fn IoCompleteRequest(irp: GuestPtr<IRP>, _boost: Ignored<i8>) -> Result<(), Fault> {
        complete_for_driver(irp)
    }
}

/// Sends an IRP for a driver.
fn send(device: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) -> Result<NtStatus, Fault> {
    let place = descend(device, request)?;
    rules::sends(request, place)?;
    let status = dispatch(device, request, place)?;
    rules::sent(request, status)?;
    Ok(status)
}

/// `IoCompleteRequest` of a driver.
fn complete_for_driver(request: GuestPtr<IRP>) -> Result<(), Fault> {
    let known = lock(&kernel().io).requests.get(&request).copied();
    if let Some(location) = known.filter(|known| !known.completed).map(|known| known.location)
        && !rules::completes(request, location, contract::place_of(request, location))?
    {
        return Ok(());
    }
    complete(request)
}
