//! The files of `wdk-kmdf` that need no framework. `wdk-sys` cannot be built for the host, but these can, so Miri runs them.

#[path = "../../../../driver/wdk-kmdf/src/output.rs"]
#[expect(unreachable_pub, reason = "it is public in wdk-kmdf")]
mod output;
#[path = "../../../../driver/wdk-kmdf/src/pod.rs"]
#[expect(unreachable_pub, reason = "it is public in wdk-kmdf")]
mod pod;

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use wdk_etw::NtStatus;

use output::Output;
pub(crate) use pod::Pod;

crate::pod! {
    struct Pair {
        first: u32,
        second: [u16; 2],
    }
}

/// Memory of the system, which nothing has initialised.
#[repr(align(8))]
struct Buffer([MaybeUninit<u8>; 24]);

/// Calls `body` with the output of a request, and returns what the client gets.
fn reply(is_shared: bool, body: impl FnOnce(&mut Output<'_>)) -> Vec<u8> {
    let mut buffer = Buffer([MaybeUninit::uninit(); 24]);
    // What an earlier reply has left.
    let mut written = 7;
    // SAFETY: the memory has this length, and only the output uses it meanwhile.
    let mut output = unsafe { Output::new(NonNull::from(&mut buffer.0).cast(), 24, is_shared, &mut written) };
    assert_eq!(output.written(), 0);
    assert_eq!(output.remaining(), 24);
    body(&mut output);
    // SAFETY: the bytes that were counted are initialised: Miri fails here if they are not.
    unsafe { slice::from_raw_parts(buffer.0.as_ptr().cast(), written as usize) }.to_vec()
}

#[test]
fn what_was_written_is_counted_and_initialised() {
    let bytes = reply(false, |output| {
        output.write(b"four").unwrap();
        output.write_value(&0x0102_0304_u32).unwrap();
        let pair: &mut Pair = output.value().unwrap();
        assert_eq!(*pair, Pair { first: 0, second: [0, 0] });
        pair.second = [5, 6];
        assert_eq!(output.written(), 16);
        assert_eq!(output.remaining(), 8);
    });
    assert_eq!(bytes, *b"four\x04\x03\x02\x01\0\0\0\0\x05\0\x06\0");
}

#[test]
fn what_does_not_fit_is_not_counted() {
    let bytes = reply(false, |output| {
        output.write(b"odd").unwrap();
        assert_eq!(output.value::<u32>(), Err(NtStatus::DatatypeMisalignment));
        assert_eq!(output.write(&[0; 22]), Err(NtStatus::BufferTooSmall));
        assert_eq!(output.write_value(&[0_u64; 3]), Err(NtStatus::BufferTooSmall));
        assert_eq!(output.value::<[u8; 22]>(), Err(NtStatus::BufferTooSmall));
        output.write(&[]).unwrap();
    });
    assert_eq!(bytes, b"odd");
}

#[test]
fn the_clients_own_memory_is_never_borrowed() {
    let bytes = reply(true, |output| {
        assert_eq!(output.value::<u32>(), Err(NtStatus::InvalidDeviceRequest));
        output.write_value(&7_u8).unwrap();
    });
    assert_eq!(bytes, [7]);
}
