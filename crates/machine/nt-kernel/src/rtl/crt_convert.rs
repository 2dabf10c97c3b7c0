//! C runtime routines that convert text between wide characters and the code page, which is ISO 8859-1 here.

use nt_processor::memory::{Fault, GuestPtr, Plain};
use nt_verifier::routine::{PASSIVE, routines};

/// What the routines return for a character that the code page does not have.
const FAILED: u64 = u64::MAX;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn wcstombs(target: Option<GuestPtr<u8>>, source: GuestPtr<u16>, room: u64) -> Result<u64, Fault> {
        let source = source.terminated()?;
        match source.into_iter().map(u8::try_from).collect::<Result<Vec<u8>, _>>() {
            Ok(bytes) => store(target, bytes, room),
            Err(_) => Ok(FAILED),
        }
    }

    #[irql(PASSIVE)]
    fn mbstowcs(target: Option<GuestPtr<u16>>, source: GuestPtr<u8>, room: u64) -> Result<u64, Fault> {
        store(target, source.terminated()?.into_iter().map(u16::from).collect(), room)
    }
}

/// Writes as many characters as there is room for, with a terminator if that fits, too. Returns their number without it.
/// Without a target, returns the number of all characters.
fn store<T: Plain + Default>(target: Option<GuestPtr<T>>, mut text: Vec<T>, room: u64) -> Result<u64, Fault> {
    let length = text.len() as u64;
    let Some(target) = target else { return Ok(length) };
    text.push(T::default());
    text.truncate(usize::try_from(room).unwrap_or(usize::MAX));
    target.array(text.len() as u64).write(&text)?;
    Ok(length.min(room))
}
