//! Values of data fields, and filter conditions about them.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nt_processor::layout::{FWP_BYTE_BLOB, FWP_RANGE0, FWP_V4_ADDR_AND_MASK, FWP_V6_ADDR, FWP_VALUE0};
use nt_processor::memory::{Fault, GuestPtr};
use windows_constants::filtering_platform::{
    FWP_BYTE_ARRAY16_TYPE, FWP_BYTE_BLOB_TYPE, FWP_EMPTY, FWP_RANGE_TYPE, FWP_UINT8, FWP_UINT16, FWP_UINT32,
    FWP_UINT64, FWP_UNICODE_STRING_TYPE, FWP_V4_ADDR_MASK, FWP_V6_ADDR_MASK,
};

/// The longest blob that is read from a condition, in bytes.
const LONGEST_BLOB: u32 = 0x1_0000;

/// The value of a data field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Empty,
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    /// An IPv6 address.
    Array16([u8; 16]),
    Blob(Vec<u8>),
}

impl From<IpAddr> for Value {
    /// IPv4 addresses are integers in the processor's byte order.
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::U32(address.to_bits()),
            IpAddr::V6(address) => Self::Array16(address.octets()),
        }
    }
}

impl Value {
    /// Returns an integer of any width.
    const fn number(&self) -> Option<u64> {
        Some(match self {
            Self::U8(value) => *value as u64,
            Self::U16(value) => *value as u64,
            Self::U32(value) => *value as u64,
            Self::U64(value) => *value,
            Self::Empty | Self::Array16(_) | Self::Blob(_) => return None,
        })
    }

    /// Compares values of the same type; `None` if they cannot be compared.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Array16(ours), Self::Array16(theirs)) => Some(ours.cmp(theirs)),
            (Self::Blob(ours), Self::Blob(theirs)) => Some(ours.cmp(theirs)),
            _ => Some(self.number()?.cmp(&other.number()?)),
        }
    }
}

/// The value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Value(Value),
    Range(Value, Value),
    V4 {
        address: u32,
        mask: u32,
    },
    V6 {
        address: u128,
        prefix: u8,
    },
    /// A type that this host cannot test, such as a security descriptor.
    Opaque,
}

/// `FWP_MATCH_TYPE`, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match(pub(super) u32);

/// A condition of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) field: &'static str,
    pub(super) how: Match,
    pub(super) operand: Operand,
}

impl Condition {
    /// Returns whether a value satisfies the condition. A condition that this host cannot test is never satisfied.
    pub(super) fn holds(&self, value: &Value) -> bool {
        match self.how.0 {
            0 | 9 => self.is_equal(value),
            10 => *value != Value::Empty && self.operand != Operand::Opaque && !self.is_equal(value),
            1 => self.order(value) == Some(Ordering::Greater),
            2 => self.order(value) == Some(Ordering::Less),
            3 => matches!(self.order(value), Some(Ordering::Greater | Ordering::Equal)),
            4 => matches!(self.order(value), Some(Ordering::Less | Ordering::Equal)),
            5 => self.is_in_range(value),
            6 => self.bits(value).is_some_and(|(bits, mask)| bits & mask == mask),
            7 => self.bits(value).is_some_and(|(bits, mask)| bits & mask != 0),
            8 => self.bits(value).is_some_and(|(bits, mask)| bits & mask == 0),
            11 => self.starts(value) == Some(true),
            12 => self.starts(value) == Some(false),
            _ => false,
        }
    }

    fn order(&self, value: &Value) -> Option<Ordering> {
        match &self.operand {
            Operand::Value(operand) => value.compare(operand),
            _ => None,
        }
    }

    fn bits(&self, value: &Value) -> Option<(u64, u64)> {
        match &self.operand {
            Operand::Value(operand) => Some((value.number()?, operand.number()?)),
            _ => None,
        }
    }

    fn is_in_range(&self, value: &Value) -> bool {
        let Operand::Range(low, high) = &self.operand else { return self.is_equal(value) };
        let above = matches!(value.compare(low), Some(Ordering::Greater | Ordering::Equal));
        above && matches!(value.compare(high), Some(Ordering::Less | Ordering::Equal))
    }

    fn is_equal(&self, value: &Value) -> bool {
        match (&self.operand, value) {
            (Operand::Value(Value::Blob(ours)), Value::Blob(theirs)) if self.how == Match(9) => {
                upper(ours) == upper(theirs)
            }
            (Operand::Value(operand), _) => value.compare(operand) == Some(Ordering::Equal),
            (Operand::V4 { address, mask }, Value::U32(value)) => value & mask == address & mask,
            (Operand::V6 { address, prefix }, Value::Array16(value)) => {
                let shift = 128_u32.saturating_sub((*prefix).into());
                let network = |address: u128| address.checked_shr(shift).unwrap_or_default();
                network(u128::from_be_bytes(*value)) == network(*address)
            }
            (Operand::Range(..), _) => self.is_in_range(value),
            _ => false,
        }
    }

    fn starts(&self, value: &Value) -> Option<bool> {
        match (&self.operand, value) {
            (Operand::Value(Value::Blob(prefix)), Value::Blob(value)) => Some(upper(value).starts_with(&upper(prefix))),
            _ => None,
        }
    }
}

/// Returns text in UTF-16 as upper case, without a terminator.
fn upper(blob: &[u8]) -> String {
    let units: Vec<u16> =
        blob.chunks_exact(2).filter_map(|unit| unit.try_into().ok().map(u16::from_le_bytes)).collect();
    String::from_utf16_lossy(&units).trim_end_matches('\0').to_uppercase()
}

/// Returns whether data with these fields satisfies all conditions. Conditions about the same field are alternatives.
pub(super) fn all_hold(conditions: &[Condition], value: impl Fn(&str) -> Value) -> bool {
    conditions.iter().all(|condition| {
        let of_field = conditions.iter().filter(|other| other.field == condition.field);
        let value = value(condition.field);
        of_field.into_iter().any(|other| other.holds(&value))
    })
}

/// Reads a value of the driver, such as the weight of a filter.
pub(super) fn read(place: GuestPtr<FWP_VALUE0>) -> Result<Option<Value>, Fault> {
    let FWP_VALUE0 { Type, Data, .. } = place.read()?;
    Ok(Some(match Type {
        FWP_EMPTY => Value::Empty,
        FWP_UINT8 => Value::U8(Data as u8),
        FWP_UINT16 => Value::U16(Data as u16),
        FWP_UINT32 => Value::U32(Data as u32),
        FWP_UINT64 => Value::U64(GuestPtr::<u64>::new(Data).read()?),
        FWP_BYTE_ARRAY16_TYPE => Value::Array16(GuestPtr::<FWP_V6_ADDR>::new(Data).read()?.addr),
        FWP_BYTE_BLOB_TYPE => {
            let blob = GuestPtr::<FWP_BYTE_BLOB>::new(Data).read()?;
            Value::Blob(blob.data.array(blob.size.min(LONGEST_BLOB).into()).read()?)
        }
        FWP_UNICODE_STRING_TYPE => {
            let units = GuestPtr::<u16>::new(Data).terminated()?;
            Value::Blob(units.into_iter().flat_map(u16::to_le_bytes).collect())
        }
        _ => return Ok(None),
    }))
}

/// Reads the value of a condition.
pub(super) fn read_operand(place: GuestPtr<FWP_VALUE0>) -> Result<Operand, Fault> {
    let FWP_VALUE0 { Type, Data, .. } = place.read()?;
    Ok(match Type {
        FWP_V4_ADDR_MASK => {
            let FWP_V4_ADDR_AND_MASK { addr, mask } = GuestPtr::<FWP_V4_ADDR_AND_MASK>::new(Data).read()?;
            Operand::V4 { address: addr, mask }
        }
        FWP_V6_ADDR_MASK => {
            let place = GuestPtr::<FWP_V6_ADDR>::new(Data);
            let address = u128::from_be_bytes(place.read()?.addr);
            Operand::V6 { address, prefix: place.after::<u8>().read()? }
        }
        FWP_RANGE_TYPE => {
            let range = GuestPtr::<FWP_RANGE0>::new(Data);
            match (read(range.valueLow())?, read(range.valueHigh())?) {
                (Some(low), Some(high)) => Operand::Range(low, high),
                _ => Operand::Opaque,
            }
        }
        _ => read(place)?.map_or(Operand::Opaque, Operand::Value),
    })
}

/// Returns an address as the bytes that packets contain, and its length in bytes.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Returns the address in these bytes: 4 for IPv4, 16 for IPv6.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).into());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).into())).ok()
}

#[cfg(test)]
mod tests {
    use super::{Condition, Match, Operand, Value, all_hold};

    fn condition(field: &'static str, how: u32, operand: Operand) -> Condition {
        Condition { field, how: Match(how), operand }
    }

    fn number(how: u32, operand: u32) -> Condition {
        condition("N", how, Operand::Value(Value::U32(operand)))
    }

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn numbers_are_compared_as_the_match_type_says() {
        let holding = |how| [4_u32, 5, 6].map(|value| number(how, 5).holds(&Value::U32(value)));
        assert_eq!(holding(0), [false, true, false]);
        assert_eq!(holding(1), [false, false, true]);
        assert_eq!(holding(2), [true, false, false]);
        assert_eq!(holding(3), [false, true, true]);
        assert_eq!(holding(4), [true, true, false]);
        assert_eq!(holding(10), [true, false, true]);
        // 5 is 101: all set, any set, none set.
        let flags = |how| [1_u32, 2, 5, 7].map(|value| number(how, 5).holds(&Value::U32(value)));
        assert_eq!(flags(6), [false, false, true, true]);
        assert_eq!(flags(7), [true, false, true, true]);
        assert_eq!(flags(8), [false, true, false, false]);
        assert!(!number(0, 5).holds(&Value::Empty));
        assert!(!number(10, 5).holds(&Value::Empty));
    }

    #[test]
    fn ranges_networks_and_paths_match() {
        let range = condition("P", 5, Operand::Range(Value::U16(80), Value::U16(90)));
        assert_eq!([79_u16, 80, 90, 91].map(|port| range.holds(&Value::U16(port))), [false, true, true, false]);
        let network = condition("A", 0, Operand::V4 { address: 0x0A00_0000, mask: 0xFF00_0000 });
        assert!(network.holds(&Value::U32(0x0A01_0203)));
        assert!(!network.holds(&Value::U32(0x0B01_0203)));
        let network = condition("A", 0, Operand::V6 { address: 0xFE80 << 112, prefix: 10 });
        assert!(network.holds(&Value::Array16((0xFE90_u128 << 112).to_be_bytes())));
        assert!(!network.holds(&Value::Array16((0xFEC0_u128 << 112).to_be_bytes())));
        let everything = condition("A", 0, Operand::V6 { address: 0, prefix: 0 });
        assert!(everything.holds(&Value::Array16([7; 16])));
        let path = condition("X", 9, Operand::Value(Value::Blob(utf16(r"\device\a.exe"))));
        assert!(path.holds(&Value::Blob(utf16("\\Device\\A.EXE\0"))));
        assert!(!condition("X", 0, Operand::Opaque).holds(&Value::U8(1)));
    }

    #[test]
    fn conditions_about_one_field_are_alternatives_and_fields_must_all_match() {
        let port = |port| condition("PORT", 0, Operand::Value(Value::U16(port)));
        let protocol = condition("PROTOCOL", 0, Operand::Value(Value::U8(6)));
        let conditions = [port(80), port(443), protocol];
        let data =
            |port, protocol| move |field: &str| if field == "PORT" { Value::U16(port) } else { Value::U8(protocol) };
        assert!(all_hold(&conditions, data(443, 6)));
        assert!(all_hold(&conditions, data(80, 6)));
        assert!(!all_hold(&conditions, data(443, 17)));
        assert!(!all_hold(&conditions, data(25, 6)));
        assert!(all_hold(&[], data(1, 1)));
    }
}
