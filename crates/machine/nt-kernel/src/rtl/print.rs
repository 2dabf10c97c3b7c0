//! The kernel's `printf`, which `DbgPrint` and the string routines use.
//!
//! It works with UTF-16 units; narrow text is widened byte by byte.

use nt_processor::layout::{STRING, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};

/// The maximum length of the output. A width from the driver could exceed it.
const LONGEST: usize = 0x1_0000;

/// The arguments of a variadic routine: eight bytes each, in a row.
pub(super) struct Arguments {
    next: GuestPtr<u64>,
}

impl Arguments {
    pub(super) const fn new(first: GuestPtr<u64>) -> Self {
        Self { next: first }
    }

    fn take(&mut self) -> Result<u64, Fault> {
        let value = self.next.read()?;
        self.next = self.next.at(1);
        Ok(value)
    }

    fn address<T>(&mut self) -> Result<GuestPtr<T>, Fault> {
        self.take().map(GuestPtr::new)
    }
}

/// Widens narrow text.
pub(crate) fn widen(text: &[u8]) -> Vec<u16> {
    text.iter().map(|&byte| byte.into()).collect()
}

/// A conversion specification of the format.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    size: Size,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Size {
    #[default]
    Int,
    Char,
    Short,
    Long,
    Wide,
    Double,
}

/// Formats text. In a wide format, `%s` is wide and `%S` is narrow; in a narrow format, it is the other way round.
pub(super) fn format(format: &[u16], wide: bool, arguments: &mut Arguments) -> Result<Vec<u16>, Fault> {
    let mut out = Vec::new();
    let mut rest = format.iter().copied().map(|unit| char::from_u32(unit.into()).unwrap_or('\u{FFFD}')).peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            push(&mut out, c);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(&flag) = rest.peek() {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                '0' => spec.zero = true,
                _ => break,
            }
            rest.next();
        }
        // As in C: a negative width is the flag `-` and a width, a negative precision is none.
        let width = number(&mut rest, arguments)?.unwrap_or_default();
        spec.left |= width < 0;
        spec.width = width.unsigned_abs();
        if rest.next_if_eq(&'.').is_some() {
            spec.precision = usize::try_from(number(&mut rest, arguments)?.unwrap_or_default()).ok();
        }
        spec.size = size(&mut rest);
        let Some(kind) = rest.next() else { break };
        convert(&mut out, kind, &spec, wide, arguments)?;
        if out.len() > LONGEST {
            break;
        }
    }
    out.truncate(LONGEST);
    Ok(out)
}

type Rest<I> = std::iter::Peekable<I>;

fn number(rest: &mut Rest<impl Iterator<Item = char>>, arguments: &mut Arguments) -> Result<Option<isize>, Fault> {
    const MOST: isize = LONGEST.cast_signed();
    if rest.next_if_eq(&'*').is_some() {
        return Ok(Some((arguments.take()? as i32 as isize).clamp(-MOST, MOST)));
    }
    let mut number = None;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        rest.next();
        number = Some((number.unwrap_or(0_isize) * 10 + (digit as usize).cast_signed()).min(MOST));
    }
    Ok(number)
}

fn size(rest: &mut Rest<impl Iterator<Item = char>>) -> Size {
    if rest.next_if_eq(&'h').is_some() {
        return if rest.next_if_eq(&'h').is_some() { Size::Char } else { Size::Short };
    }
    if rest.next_if_eq(&'l').is_some() {
        return if rest.next_if_eq(&'l').is_some() { Size::Double } else { Size::Long };
    }
    if rest.next_if_eq(&'w').is_some() {
        return Size::Wide;
    }
    if rest.next_if(|c| matches!(c, 'z' | 'j' | 't')).is_some() {
        return Size::Double;
    }
    if rest.next_if_eq(&'I').is_some() {
        let six = rest.next_if_eq(&'6').is_some();
        let three = rest.next_if_eq(&'3').is_some();
        if six {
            rest.next_if_eq(&'4');
        } else if three {
            rest.next_if_eq(&'2');
            return Size::Int;
        }
        return Size::Double;
    }
    Size::Int
}

fn push(out: &mut Vec<u16>, c: char) {
    out.extend_from_slice(c.encode_utf16(&mut [0; 2]));
}

fn convert(out: &mut Vec<u16>, kind: char, spec: &Spec, wide: bool, arguments: &mut Arguments) -> Result<(), Fault> {
    match kind {
        '%' => push(out, '%'),
        'd' | 'i' => {
            let value = signed(arguments.take()?, spec.size);
            let sign = match value {
                ..0 => "-",
                _ if spec.plus => "+",
                _ if spec.space => " ",
                _ => "",
            };
            integer(out, spec, sign, &value.unsigned_abs().to_string());
        }
        'u' => integer(out, spec, "", &unsigned(arguments.take()?, spec.size).to_string()),
        'x' | 'X' => {
            let value = unsigned(arguments.take()?, spec.size);
            let prefix = match kind {
                _ if !spec.alternate || value == 0 => "",
                'X' => "0X",
                _ => "0x",
            };
            let digits = if kind == 'X' { format!("{value:X}") } else { format!("{value:x}") };
            integer(out, spec, prefix, &digits);
        }
        'o' => {
            let digits = format!("{:o}", unsigned(arguments.take()?, spec.size));
            // The flag `#` makes the first digit a zero.
            let digits = if spec.alternate && digits != "0" { format!("0{digits}") } else { digits };
            integer(out, spec, "", &digits);
        }
        'p' => integer(out, spec, "", &format!("{:016X}", arguments.take()?)),
        'c' | 'C' => text(out, spec, &[arguments.take()? as u16]),
        'Z' if spec.size == Size::Wide => {
            let units = arguments.address::<UNICODE_STRING>()?.units()?;
            text(out, spec, &units);
        }
        'Z' => {
            let bytes = arguments.address::<STRING>()?.units()?;
            text(out, spec, &widen(&bytes));
        }
        's' | 'S' => {
            let by_size = match spec.size {
                Size::Wide | Size::Long => Some(true),
                Size::Short => Some(false),
                _ => None,
            };
            let units = string(arguments.take()?, by_size.unwrap_or(wide == (kind == 's')), spec.precision)?;
            text(out, spec, &units);
        }
        // The kernel's printf does not support floating point; unknown conversions are printed as they are.
        other => {
            push(out, '%');
            push(out, other);
        }
    }
    Ok(())
}

fn string(address: u64, wide: bool, limit: Option<usize>) -> Result<Vec<u16>, Fault> {
    let limit = limit.unwrap_or(LONGEST) as u64;
    if address == 0 {
        return Ok(widen(b"(null)"));
    }
    if wide { GuestPtr::new(address).until(0, limit) } else { Ok(widen(&GuestPtr::new(address).until(0, limit)?)) }
}

const fn signed(value: u64, size: Size) -> i64 {
    match size {
        Size::Double => value.cast_signed(),
        Size::Short => value as i16 as i64,
        Size::Char => value as i8 as i64,
        Size::Int | Size::Long | Size::Wide => value as i32 as i64,
    }
}

const fn unsigned(value: u64, size: Size) -> u64 {
    match size {
        Size::Double => value,
        Size::Short => value as u16 as u64,
        Size::Char => value as u8 as u64,
        Size::Int | Size::Long | Size::Wide => value as u32 as u64,
    }
}

fn integer(out: &mut Vec<u16>, spec: &Spec, prefix: &str, digits: &str) {
    // As in C: with a precision of zero, zero has no digits.
    let digits = if spec.precision == Some(0) && digits == "0" { "" } else { digits };
    let mut padded = "0".repeat(spec.precision.unwrap_or_default().saturating_sub(digits.len()));
    padded.push_str(digits);
    if spec.zero && !spec.left && spec.precision.is_none() {
        let missing = spec.width.saturating_sub(prefix.len() + padded.len());
        padded.insert_str(0, &"0".repeat(missing));
    }
    pad(out, spec, &widen(format!("{prefix}{padded}").as_bytes()));
}

fn text(out: &mut Vec<u16>, spec: &Spec, units: &[u16]) {
    let end = spec.precision.unwrap_or(units.len()).min(units.len());
    pad(out, spec, units.get(..end).unwrap_or_default());
}

fn pad(out: &mut Vec<u16>, spec: &Spec, units: &[u16]) {
    let missing = spec.width.saturating_sub(units.len());
    let blanks = std::iter::repeat_n(u16::from(b' '), missing);
    if spec.left {
        out.extend_from_slice(units);
        out.extend(blanks);
    } else {
        out.extend(blanks);
        out.extend_from_slice(units);
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, GuestPtr, format, widen};

    fn print(text: &str, arguments: &[u64]) -> String {
        let first = GuestPtr::new(arguments.as_ptr().expose_provenance() as u64);
        let text = format(&widen(text.as_bytes()), false, &mut Arguments::new(first));
        String::from_utf16_lossy(&text.expect("memory of the test"))
    }

    fn address<T>(value: &T) -> u64 {
        std::ptr::from_ref(value).expose_provenance() as u64
    }

    #[test]
    fn integers_follow_width_size_and_flags() {
        assert_eq!(print("%d %5u|%-5d|%05x", &[u64::MAX, 7, 7, 255]), "-1     7|7    |000ff");
        assert_eq!(print("%I64x %lld %#X %hhu", &[u64::MAX, u64::MAX, 255, 0x1FF]), "ffffffffffffffff -1 0XFF 255");
        assert_eq!(print("%p", &[0xABC]), "0000000000000ABC");
    }

    #[test]
    fn counted_and_wide_strings_are_read() {
        let wide: Vec<u16> = "héllo\0".encode_utf16().collect();
        let counted = [6_u64 | 12 << 16, wide.as_ptr().expose_provenance() as u64];
        let pointer = wide.as_ptr().expose_provenance() as u64;
        assert_eq!(print("%wZ %ws %S %.2ls", &[address(&counted), pointer, pointer, pointer]), "hél héllo héllo hé");
        assert_eq!(print("%s|%8s|%-4s|", &[0, address(b"ab\0"), address(b"ab\0")]), "(null)|      ab|ab  |");
    }

    /// ISO C, "The fprintf function".
    #[test]
    fn arguments_and_flags_mean_what_c_says() {
        assert_eq!(print("%*d|", &[(-4_i64).cast_unsigned(), 7]), "7   |");
        assert_eq!(print("%.*s|", &[u64::MAX, address(b"abc\0")]), "abc|");
        assert_eq!(print("%#o %#o %#x %#X", &[8, 0, 0, 0]), "010 0 0 0");
        assert_eq!(print("%.0d|%.d|%3.0u|%.0x|", &[0, 0, 0, 0]), "||   ||");
        assert_eq!(print("%.0d %.2d", &[1, 1]), "1 01");
    }

    #[test]
    fn odd_formats_neither_fail_nor_read_too_much() {
        assert_eq!(print("100%", &[]), "100");
        assert_eq!(print("%q %%", &[]), "%q %");
        assert_eq!(print("%*d", &[3, 1]), "  1");
    }
}
