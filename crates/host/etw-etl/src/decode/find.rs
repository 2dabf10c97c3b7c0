//! Looks up fields by name.

use super::{Decoded, Node};

impl Decoded {
    /// Returns the value of the field with this name. `Outer.Inner` names a field of a struct.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Node> {
        let mut fields = &self.fields;
        let mut rest = path;
        loop {
            if let Some(field) = fields.iter().find(|field| field.name == rest) {
                return Some(&field.node);
            }
            let (name, inner) = rest.split_once('.')?;
            let field = fields.iter().find(|field| field.name == name)?;
            let Node::Struct(members) = &field.node else { return None };
            (fields, rest) = (members, inner);
        }
    }
}
