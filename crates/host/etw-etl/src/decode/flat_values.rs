//! The values of an event without structs, in their order.

use etw_types::InType;
use etw_types::tracelogging::Value;

/// The values of an event whose fields are single values or arrays of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct FlatValues<'a> {
    /// Single values and elements of arrays.
    pub(super) all: Vec<(InType, Value<'a>)>,
    /// Index of the field and number of elements of each array.
    pub(super) arrays: Vec<(usize, usize)>,
    /// Number of fields.
    pub(super) fields: usize,
}

impl<'a> FlatValues<'a> {
    pub(super) fn with_capacity(values: usize) -> Self {
        Self { all: Vec::with_capacity(values), ..Self::default() }
    }

    /// Returns the value of a field that is a single value.
    pub(super) fn single(&self, field: usize) -> Option<Value<'a>> {
        let mut index = field;
        for (place, count) in &self.arrays {
            if *place == field {
                return None;
            }
            if *place < field {
                index = (index + count).checked_sub(1)?;
            }
        }
        self.all.get(index).map(|(_, value)| *value)
    }
}
