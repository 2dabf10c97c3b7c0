//! The grammar of a driver's requests, for inputs that begin well-formed.

use fastrand::Rng;

use super::bytes;

/// The requests that a driver takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grammar {
    /// The control requests.
    pub requests: Vec<RequestFormat>,
}

/// The format of a control request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFormat {
    /// The control code.
    pub code: u32,
    /// The fields of the input, in their order.
    pub fields: Vec<Field>,
    /// The size of the output buffer in bytes.
    pub output: u32,
}

/// A field of a request's input. Integers are little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// An integer of this many bytes that has one of these values, or any if there are none.
    Integer {
        /// The number of bytes, at most 8.
        size: usize,
        /// The values.
        values: Vec<u64>,
    },
    /// An integer of this many bytes: the number of bytes that follow it.
    Length {
        /// The number of bytes, at most 8.
        size: usize,
    },
    /// Any bytes, at most this many.
    Bytes {
        /// The maximum number.
        most: usize,
    },
}

impl RequestFormat {
    /// Makes an input. `values` are constants of the driver.
    pub(super) fn input(&self, rng: &mut Rng, values: &[u64]) -> Vec<u8> {
        let mut input = Vec::new();
        let mut lengths = Vec::new();
        for field in &self.fields {
            let at = input.len();
            match field {
                Field::Integer { size, values: own } => {
                    let value = rng.choice(own).copied().unwrap_or_else(|| bytes::value(rng, values));
                    bytes::write(&mut input, at, value, (*size).min(8));
                }
                Field::Length { size } => {
                    let size = (*size).min(8);
                    lengths.push((at, size));
                    bytes::write(&mut input, at, 0, size);
                }
                Field::Bytes { most } => {
                    let count = rng.usize(..=(*most).min(bytes::LONGEST - at.min(bytes::LONGEST)));
                    input.extend(std::iter::repeat_with(|| rng.u8(..)).take(count));
                }
            }
        }
        let length = input.len();
        for (at, size) in lengths {
            bytes::write(&mut input, at, (length - (at + size).min(length)) as u64, size);
        }
        input
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Field, RequestFormat};

    #[test]
    fn inputs_have_the_fields_of_their_format() {
        let fields = vec![
            Field::Integer { size: 4, values: vec![0x1234_5678] },
            Field::Length { size: 2 },
            Field::Bytes { most: 10 },
        ];
        let format = RequestFormat { code: 1, fields, output: 0 };
        let mut rng = Rng::with_seed(3);
        for _ in 0..100 {
            let input = format.input(&mut rng, &[]);
            let [0x78, 0x56, 0x34, 0x12, low, high, rest @ ..] = input.as_slice() else { panic!("{input:?}") };
            assert_eq!(usize::from(u16::from_le_bytes([*low, *high])), rest.len());
            assert!(rest.len() <= 10);
        }
    }
}
