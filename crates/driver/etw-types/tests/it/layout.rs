//! Compares layouts and values with Microsoft's metadata (the windows-sys crate). A test of `wdk-kit` compares the statuses.

use core::mem::{align_of, offset_of, size_of};

use etw_types::{
    AnsiString, ControlCode, EventDataDescriptor, EventDescriptor, EventFilterDescriptor, EventInfoClass, Guid,
    UnicodeString,
};
use windows_sys::Win32::Foundation as foundation;
use windows_sys::Win32::System::Diagnostics::Etw as etw;
use windows_sys::Win32::System::Kernel::STRING;
use windows_sys::core::GUID;

macro_rules! same_layout {
    ($ours:ty, $theirs:ty) => {
        assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($theirs));
        assert_eq!(align_of::<$ours>(), align_of::<$theirs>(), stringify!($theirs));
    };
}

#[test]
fn structures_have_the_size_and_alignment_of_the_metadata() {
    same_layout!(Guid, GUID);
    same_layout!(EventDescriptor, etw::EVENT_DESCRIPTOR);
    same_layout!(EventDataDescriptor<'static>, etw::EVENT_DATA_DESCRIPTOR);
    same_layout!(EventFilterDescriptor, etw::EVENT_FILTER_DESCRIPTOR);
    same_layout!(UnicodeString, foundation::UNICODE_STRING);
    same_layout!(AnsiString, STRING);
}

#[test]
fn members_have_the_offsets_of_the_metadata() {
    assert_eq!(offset_of!(EventDescriptor, keyword), offset_of!(etw::EVENT_DESCRIPTOR, Keyword));
    assert_eq!(offset_of!(EventDescriptor, level), offset_of!(etw::EVENT_DESCRIPTOR, Level));
    assert_eq!(offset_of!(EventDescriptor, opcode), offset_of!(etw::EVENT_DESCRIPTOR, Opcode));
    assert_eq!(offset_of!(EventDescriptor, task), offset_of!(etw::EVENT_DESCRIPTOR, Task));
    assert_eq!(offset_of!(EventDescriptor, channel), offset_of!(etw::EVENT_DESCRIPTOR, Channel));
    assert_eq!(offset_of!(EventFilterDescriptor, size), offset_of!(etw::EVENT_FILTER_DESCRIPTOR, Size));
    assert_eq!(offset_of!(EventFilterDescriptor, kind), offset_of!(etw::EVENT_FILTER_DESCRIPTOR, Type));
    assert_eq!(offset_of!(UnicodeString, buffer), offset_of!(foundation::UNICODE_STRING, Buffer));
    assert_eq!(offset_of!(Guid, data4), offset_of!(GUID, data4));
}

#[test]
fn enumerations_have_the_values_of_the_metadata() {
    for (ours, theirs) in [
        (EventInfoClass::BinaryTrackInfo.as_int(), etw::EventProviderBinaryTrackInfo),
        (EventInfoClass::SetReserved1.as_int(), etw::EventProviderSetReserved1),
        (EventInfoClass::SetTraits.as_int(), etw::EventProviderSetTraits),
        (EventInfoClass::UseDescriptorType.as_int(), etw::EventProviderUseDescriptorType),
        (EventInfoClass::MaxEventInfo.as_int(), etw::MaxEventInfo),
    ] {
        assert_eq!(i64::from(ours), i64::from(theirs));
    }
    assert_eq!(ControlCode::EnableProvider.as_int(), etw::EVENT_CONTROL_CODE_ENABLE_PROVIDER);
    assert_eq!(ControlCode::CaptureState.as_int(), etw::EVENT_CONTROL_CODE_CAPTURE_STATE);
}
