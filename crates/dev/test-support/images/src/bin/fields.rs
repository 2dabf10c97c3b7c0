//! Fields of every shape, with values that are known only at run time.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::{AnsiString, Guid, Level, NtStatus, define_provider, write_event};

images::driver!(load, unload);

define_provider!(
    PROVIDER,
    "WdkEtw.Images.Fields",
    group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"),
    custom_trait(128, b"data"),
    set_information(Off)
);

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { PROVIDER.register() };
    if PROVIDER.enabled(Level::Informational, 0x10) {
        write_scalars(input, status);
    }
    write_strings(input);
    write_counted_strings(input);
    write_arrays(input);
    write_raw(input);
    write_event!(PROVIDER, "Plain");
    status.as_int()
}

fn unload() {
    PROVIDER.unregister();
}

fn write_scalars(input: Input<'_>, status: NtStatus) {
    let half = input.path.length;
    write_event!(
        PROVIDER,
        "Scalars",
        level(Informational),
        keyword(0x10),
        opcode(Info),
        task(3),
        id_version(7, 1),
        tag(0x0FFF_C000),
        activity_id(&[1; 16]),
        related_id(&[2; 16]),
        bool8("bool8", &(half == 3)),
        u8("u8", &7),
        u16_hex("u16", &half),
        i32("i32", &i32::from(half)),
        f64("f64", &f64::from(half)),
        usize("usize", &input.seed),
        guid("guid", &Guid::from_u128(u128::from(half))),
        time32("time32", &i32::from(half)),
        time64("time64", &i64::from(half)),
        ipv4("ipv4", &[127, 0, 0, 1]),
        ipv6("ipv6", &[1; 16]),
        win_systemtime("systemtime", &[half; 8]),
        ntstatus("status", &status),
        irql("irql", &2),
        kernel_ptr("path", &raw const *input.path),
        struct("pair", { i32("x", &-1), u64("y", &u64::from(half)) }),
    );
}

fn write_strings(input: Input<'_>) {
    write_event!(
        PROVIDER,
        "Strings",
        level(Warning),
        str8("str8", input.bytes),
        str16("str16", input.units),
        cstr8("cstr8", input.bytes),
        cstr16("cstr16", input.units),
        binary("binary", input.bytes),
        win_sid("sid", input.bytes),
    );
}

fn write_counted_strings(input: Input<'_>) {
    let Ok(length) = u16::try_from(input.bytes.len()) else {
        return;
    };
    let ansi = AnsiString { length, maximum_length: length, buffer: input.bytes.as_ptr() };
    // SAFETY: the path comes from the kernel, and the other string from a slice. Both have as many bytes as their
    // length says.
    unsafe {
        write_event!(PROVIDER, "Counted", unicode_string("path", input.path), ansi_string("ansi", &ansi));
    }
}

fn write_arrays(input: Input<'_>) {
    write_event!(
        PROVIDER,
        "Arrays",
        u8_slice("u8", input.bytes),
        u16_hex_slice("u16", input.units),
        char16_slice("char16", input.units),
    );
}

fn write_raw(input: Input<'_>) {
    write_event!(
        PROVIDER,
        "Raw",
        raw_field("field", U8, input.bytes),
        raw_field_slice("fields", U8, input.bytes),
        raw_meta("meta", U8),
        raw_data(input.bytes),
    );
}
