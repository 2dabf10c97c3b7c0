//! Bus drivers: the devices of children and their init structures.

use etw_types::NtStatus;
use nt_processor::layout::{GUID, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};

use crate::children::child_list::{self, with_list};
use crate::children::enumerate::{later, remove, start_child, submit};
use crate::device::init::{self, Init, note_failure};
use crate::device::{self, Device, with_device};
use crate::state::with;
use crate::{Handle, object, structures};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH), fails_with_zero]
    fn WdfPdoInitAllocate(&call, parent: Handle) -> Handle {
        init::new(call.from, Init { parent, ..Init::default() }).ok().unwrap_or_default()
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAssignDeviceID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAssignInstanceID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAddHardwareID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAddCompatibleID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAssignContainerID(init: Handle, id: GuestPtr<UNICODE_STRING>) -> Outcome {
        identify(init, id)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAddDeviceText(
        init: Handle,
        description: GuestPtr<UNICODE_STRING>,
        location: GuestPtr<UNICODE_STRING>,
        _locale: Ignored<u32>,
    ) -> Outcome {
        location.units()?;
        identify(init, description)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfPdoInitAssignRawDevice(init: Handle, class: GuestPtr<GUID>) -> NtStatus {
        object::needs_place(class);
        init::with_init(init, |init| init.raw = true);
        NtStatus::Success
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitSetDefaultLocale(init: Handle, _locale: Ignored<u32>) {
        init::check(init);
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitSetEventCallbacks(init: Handle, callbacks: GuestPtr<Opaque>) -> Result<(), Fault> {
        init::check(init);
        structures::PDO_EVENT_CALLBACKS.fits(callbacks).map(drop)
    }

    #[irql(DISPATCH), fixed]
    fn WdfPdoInitAllowForwardingRequestToParent(init: Handle) {
        init::check(init);
    }

    #[irql(DISPATCH)]
    fn WdfPdoGetParent(device: Handle) -> Handle {
        with_device(device, |device| device.init.parent)
    }

    #[irql(DISPATCH)]
    fn WdfFdoAddStaticChild(parent: Handle, child: Handle) -> NtStatus {
        let is_child = |device: &mut Device| device.init.parent == parent && !device.init.listed;
        if !with(|framework| framework.get_mut(child).is_some_and(is_child)) {
            let what = format_args!("the child is not a device that was created with WdfPdoInitAllocate");
            verify::find(Rule::FrameworkMisuse.named(Kmdf::AddPdotoStaticChildlist), what);
            return NtStatus::InvalidParameter;
        }
        with_device(parent, |device| device.static_children.push(child));
        if with_device(parent, |device| device.started) {
            submit(child, move || start_child(child));
        }
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfPdoMarkMissing(child: Handle) -> NtStatus {
        let parent = with_device(child, |device| device.init.parent);
        if parent.is_null() {
            return NtStatus::InvalidParameter;
        }
        if let Some(list) = child_list::mark_missing(parent, child) {
            later(list);
        } else if child_list::is_static(parent, child) && device::lives(child, |_| true) {
            submit(child, move || remove(child));
        } else {
            // It was never reported, or it is already removed, and only references keep it.
            return NtStatus::NoSuchDevice;
        }
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfPdoRetrieveIdentificationDescription(device: Handle, place: GuestPtr<u8>) -> Outcome {
        let lists = with_device(with_device(device, |device| device.init.parent), |parent| parent.lists.clone());
        for list in lists {
            let (children, size) = with_list(list, |list| (list.children.clone(), list.config));
            if let Some(child) = children.iter().find(|child| child.device == device) {
                let size = size.IdentificationDescriptionSize.into();
                place.array(size).copy_from(child.identification)?;
                return done(());
            }
        }
        fail(NtStatus::InvalidParameter)
    }
}

/// Checks that the ID or text is a valid string, and ignores it. Windows uses it to select a driver, which this host
/// does not do.
fn identify(init: Handle, text: GuestPtr<UNICODE_STRING>) -> Outcome {
    text.units()?;
    init::check(init);
    done(())
}
