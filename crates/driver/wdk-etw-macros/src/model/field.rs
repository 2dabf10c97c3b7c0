//! One checked field.

use proc_macro2::Span;
use syn::Expr;
use syn::spanned::Spanned;

use super::limits;
use super::names::{IN_TYPE, OUT_TYPE};
use super::options::{Args, named, tag};
pub(crate) use super::options::{Named as Code, Tag};
use super::table::{Encoding, FieldType, Shape};
use crate::errors::Errors;
use crate::parse::{Arg, Item, Words, call};

/// A field of the event, in the order of the metadata. The fields of a struct follow the struct.
pub(crate) struct Field {
    /// The span of the field type. Errors about the value point here.
    pub(crate) span: Span,
    /// How the value is written to the payload.
    pub(crate) shape: Shape,
    /// Name and types; `None` for `raw_data`.
    pub(crate) meta: Option<FieldMeta>,
    /// The value, if the shape has one.
    pub(crate) value: Option<Expr>,
}

/// The metadata of a field.
pub(crate) struct FieldMeta {
    /// The field's name.
    pub(crate) name: String,
    /// The encoding byte without flags.
    pub(crate) in_type: Code,
    /// The format byte (or a struct's field count) without flags; `None` if it can be omitted.
    pub(crate) out_type: Option<Code>,
    /// The tag, if one is given.
    pub(crate) tag: Option<Tag>,
}

impl FieldMeta {
    /// Returns the minimum number of metadata bytes. It is exact unless something depends on a constant expression.
    pub(crate) fn min_size(&self) -> usize {
        let name = self.name.len() + 1;
        let tag = self.tag.as_ref().map_or(0, Tag::min_size);
        let out_type = usize::from(self.out_type.is_some() || self.tag.is_some());
        name + 1 + out_type + tag
    }
}

impl Tag {
    /// Returns the minimum number of bytes that this tag takes.
    pub(crate) fn min_size(&self) -> usize {
        match self {
            Self::Known(tag) => etw_types::tracelogging::tag_len(*tag),
            Self::Value(..) => 1,
        }
    }
}

/// A field, and the items in its braces if it is a struct.
pub(crate) struct ReadField {
    /// The field itself.
    pub(crate) field: Field,
    /// The struct's fields, which have not been read yet.
    pub(crate) nested: Option<Vec<Item>>,
}

/// Reads the arguments of a field of type `kind`. Returns `None` after an error that leaves nothing to check.
pub(crate) fn read(item: Item, kind: FieldType, errors: &mut Errors) -> Option<ReadField> {
    let span = item.span();
    let mut args = Args::from_item(item);
    if kind.shape == Shape::RawData {
        let value = args.value("the bytes, for example `raw_data(&bytes)`", errors);
        args.finish(errors);
        let field = Field { span, shape: kind.shape, meta: None, value };
        return Some(ReadField { field, nested: None });
    }

    let name = args.name("the field's name as a string literal, for example `\"Field\"`", errors);
    if name.is_none() && args.is_empty() {
        return None;
    }
    let in_type = in_type(kind, &mut args, errors);
    let mut out_type = out_type(kind, &mut args, errors);
    let value = if kind.shape.has_value() { args.value("the field's value", errors) } else { None };
    let mut tag_value = None;
    let nested = options(kind, &mut args, &mut out_type, &mut tag_value, errors);
    if kind.shape == Shape::Struct && nested.is_none() {
        errors.add(
            span,
            "`struct` needs its fields in braces, for example `struct(\"Name\", { u32(\"Field\", &value) })`",
        );
    }

    let meta = FieldMeta { name: name?.value(), in_type: in_type?, out_type, tag: tag_value };
    let field = Field { span, shape: kind.shape, meta: Some(meta), value };
    Some(ReadField { field, nested })
}

/// Returns the encoding, from the table or from the arguments of a raw field.
fn in_type(kind: FieldType, args: &mut Args, errors: &mut Errors) -> Option<Code> {
    match kind.encoding {
        Encoding::Fixed(value) => Some(Code::Known(value)),
        Encoding::Sized(name) => Some(Code::Sized(name)),
        Encoding::Raw => {
            let expr = args.value("an InType, for example `U32`, `InType::U32` or `8`", errors)?;
            Some(named(expr, &IN_TYPE, errors))
        }
    }
}

/// Returns the format without regard to `format(…)`: from the table, or the field count of a raw struct.
fn out_type(kind: FieldType, args: &mut Args, errors: &mut Errors) -> Option<Code> {
    if !matches!(kind.shape, Shape::RawStruct(_)) {
        return (kind.out_type != 0).then_some(Code::Known(kind.out_type));
    }
    let expr = args.value("the number of fields, for example `2`", errors)?;
    match Words::from_expr(&expr) {
        Words::Integer(Some(count)) if count <= limits::STRUCT_FIELDS as u64 => {
            u8::try_from(count).ok().map(Code::Known)
        }
        Words::Integer(_) => {
            errors.add(expr.span(), "a struct has at most 127 fields");
            None
        }
        _ => Some(Code::Number(expr)),
    }
}

/// Reads `tag(…)`, `format(…)` and the braces of a struct. Their order is free, except that the braces come last.
fn options(
    kind: FieldType,
    args: &mut Args,
    out_type: &mut Option<Code>,
    tag_value: &mut Option<Tag>,
    errors: &mut Errors,
) -> Option<Vec<Item>> {
    let allowed = if kind.shape.takes_format() { "`tag(…)` or `format(…)`" } else { "`tag(…)`" };
    let mut format_set = false;
    let mut nested = None;
    while let Some(arg) = args.next() {
        let expr = match arg {
            Arg::Value(expr) => expr,
            Arg::Fields(_, items) if nested.is_none() => {
                nested = Some(items);
                continue;
            }
            Arg::Fields(span, _) => {
                errors.add(span, "a struct has one list of fields");
                continue;
            }
        };
        if nested.is_some() {
            errors.add(expr.span(), "the fields of a struct must come last");
            continue;
        }
        let Some((name, values)) = call(&expr) else {
            errors.add(expr.span(), format!("expected {allowed}"));
            continue;
        };
        let mut inner = Args::nested(name.to_string(), name.span(), values.iter().cloned());
        match name.to_string().as_str() {
            "tag" => {
                if tag_value.is_some() {
                    errors.add(name.span(), "`tag` is given twice");
                }
                if let Some(value) = inner.value("a number from 0 to 0x0FFFFFFF", errors) {
                    *tag_value = Some(tag(value, name.span(), errors));
                }
            }
            "format" if kind.shape.takes_format() => {
                if format_set {
                    errors.add(name.span(), "`format` is given twice");
                }
                format_set = true;
                if let Some(value) = inner.value("an OutType, for example `Hex`, `OutType::Hex` or `4`", errors) {
                    *out_type = Some(format_code(value, errors));
                }
            }
            other => {
                errors.add(name.span(), format!("unknown option `{other}` of `{}`; expected {allowed}", kind.name));
                continue;
            }
        }
        inner.finish(errors);
    }
    nested
}

/// Reads a format. It has 7 bits, because the eighth says that a tag follows.
fn format_code(value: Expr, errors: &mut Errors) -> Code {
    let span = value.span();
    let code = named(value, &OUT_TYPE, errors);
    if let Code::Known(128..) = code {
        errors.add(span, "a format has 7 bits: 0 to 127");
    }
    code
}
