//! The result that an activity's scope stores: one fixed-size field of its stop event.

use syn::Expr;
use syn::spanned::Spanned;

use super::field::{Code, Field, FieldMeta};
use super::options::{Args, reject_nul};
use super::table::{Encoding, FieldType};
use crate::errors::Errors;
use crate::parse::{call, string};

/// The argument that `result` takes, for messages.
pub(super) const RESULT: &str = "a field without its value, for example `result(ntstatus(\"Status\"))`";

/// The field types whose value a scope can store, each with the type of that value.
const TYPES: [(&str, ResultType); 4] = [
    ("ntstatus", ResultType::NtStatus),
    ("hresult", ResultType::HResult),
    ("u32", ResultType::U32),
    ("u64", ResultType::U64),
];

/// The Rust type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResultType {
    NtStatus,
    HResult,
    U32,
    U64,
}

/// A checked `result(…)`.
pub(crate) struct ResultField {
    /// Name and types.
    pub(crate) field: Field,
    /// The type of the value.
    pub(crate) kind: ResultType,
}

impl ResultField {
    /// Reads the option's argument.
    pub(super) fn read(value: &Expr, errors: &mut Errors) -> Option<Self> {
        let Some((word, args)) = call(value) else {
            errors.add(value.span(), format!("expected {RESULT}"));
            return None;
        };
        let text = word.to_string();
        let known = TYPES.iter().find(|(name, _)| *name == text);
        let (Some((_, kind)), Some(field_type)) = (known, FieldType::find(&text)) else {
            let names = TYPES.map(|(name, _)| name).join("`, `");
            errors.add(word.span(), format!("a result cannot be `{text}`; its types are `{names}`"));
            return None;
        };
        let mut args = Args::nested(text, word.span(), args.iter().cloned());
        let name = args.value("the field's name as a string literal, for example `\"Status\"`", errors)?;
        args.finish(errors);
        let Some(name) = string(&name) else {
            errors.add(name.span(), "expected the field's name as a string literal, for example `\"Status\"`");
            return None;
        };
        reject_nul(name, errors);
        let Encoding::Fixed(in_type) = field_type.encoding else {
            return None;
        };
        let out_type = (field_type.out_type != 0).then_some(Code::Known(field_type.out_type));
        let meta = FieldMeta { name: name.value(), in_type: Code::Known(in_type), out_type, tag: None };
        let field = Field { span: word.span(), shape: field_type.shape, meta: Some(meta), value: None };
        Some(Self { field, kind: *kind })
    }
}
