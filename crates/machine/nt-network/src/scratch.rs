//! What callouts see of values, in memory of the host that a classification frees at its end.

use nt_kernel::{kernel, lock};
use nt_processor::layout::{FWP_BYTE_BLOB, FWP_VALUE0};
use nt_processor::memory::{Fault, GuestPtr, Plain};
use windows_constants::filtering_platform::{
    FWP_BYTE_ARRAY16_TYPE, FWP_BYTE_BLOB_TYPE, FWP_EMPTY, FWP_UINT8, FWP_UINT16, FWP_UINT32, FWP_UINT64,
};

use super::value::Value;

/// Memory of the host for the time of a classification.
#[derive(Default)]
pub(super) struct Scratch(Vec<u64>);

impl Scratch {
    /// Makes a structure of zeroes.
    pub(super) fn zeroed<T: Plain>(&mut self) -> GuestPtr<T> {
        let place = lock(&kernel().pool).new_object::<T>();
        self.0.push(place.address());
        place
    }

    /// Stores a value.
    pub(super) fn place<T: Plain>(&mut self, value: T) -> Result<GuestPtr<T>, Fault> {
        let place = self.zeroed::<T>();
        place.write(value)?;
        Ok(place)
    }

    /// Stores values.
    pub(super) fn array<T: Plain>(&mut self, values: &[T]) -> Result<GuestPtr<T>, Fault> {
        let place = lock(&kernel().pool).new_objects::<T>(values.len() as u64);
        self.0.push(place.address());
        place.write_all(values)?;
        Ok(place)
    }

    /// Stores a value as callouts see it.
    pub(super) fn value(&mut self, value: &Value) -> Result<FWP_VALUE0, Fault> {
        let (kind, data) = match value {
            Value::Empty => (FWP_EMPTY, 0),
            Value::U8(value) => (FWP_UINT8, (*value).into()),
            Value::U16(value) => (FWP_UINT16, (*value).into()),
            Value::U32(value) => (FWP_UINT32, (*value).into()),
            Value::U64(value) => (FWP_UINT64, self.place(*value)?.address()),
            Value::Array16(value) => (FWP_BYTE_ARRAY16_TYPE, self.place(*value)?.address()),
            Value::Blob(bytes) => (FWP_BYTE_BLOB_TYPE, self.blob(bytes)?.address()),
        };
        Ok(FWP_VALUE0 { Type: kind, Padding: 0, Data: data })
    }

    /// Stores bytes as a blob.
    pub(super) fn blob(&mut self, bytes: &[u8]) -> Result<GuestPtr<FWP_BYTE_BLOB>, Fault> {
        let data = self.array(bytes)?;
        self.place(FWP_BYTE_BLOB { size: bytes.len() as u32, Padding: 0, data })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut pool = lock(&kernel().pool);
        for address in &self.0 {
            pool.free_object(*address);
        }
    }
}
