//! A checked provider: its id, its traits blob and how it sets information.

use etw_types::Guid;
use etw_types::traits::{TraitsBuilder, TraitsError};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Visibility};

use super::options::{Args, reject_nul};
use super::suggest::nearest;
use crate::errors::Errors;
use crate::parse::{Item, ProviderSyntax, Words, ungrouped};

/// Kernel or user mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Mode {
    /// The functions of ntoskrnl, which return an NTSTATUS.
    #[default]
    Kernel,
    /// The functions of advapi32. The status is an HRESULT.
    User,
}

/// How the provider calls `EtwSetInformation`.
pub(crate) enum SetInformation {
    /// A choice by name: `Off`, `Direct` or `Lookup`.
    Chosen(&'static str),
    /// Determined by the Windows version that the provider is built for.
    ByVersion(Span, Expr),
    /// Determined by the settings of the build.
    ByBuild,
}

/// A checked provider.
pub(crate) struct Provider {
    /// Attributes and doc comments.
    pub(crate) attributes: Vec<Attribute>,
    /// Visibility of the static.
    pub(crate) visibility: Visibility,
    /// Name of the static.
    pub(crate) symbol: Ident,
    /// The provider's id.
    pub(crate) id: Guid,
    /// The encoded traits.
    pub(crate) traits: Vec<u8>,
    /// Kernel or user mode.
    pub(crate) mode: Mode,
    /// How information is set.
    pub(crate) set_information: SetInformation,
    /// `protected()`.
    pub(crate) is_protected: bool,
    /// `debug()`.
    pub(crate) debug: bool,
}

/// The options, in the order of the documentation. The spellings without an underscore are synonyms.
const OPTIONS: [&str; 10] = [
    "id",
    "group_id",
    "group_name",
    "decode_id",
    "custom_trait",
    "mode",
    "protected",
    "set_information",
    "target_version",
    "debug",
];

const MODES: [&str; 2] = ["Kernel", "User"];
const SET_INFORMATION: [&str; 3] = ["Off", "Direct", "Lookup"];

/// The values of the options, before defaults are applied.
#[derive(Default)]
struct Options {
    id: Option<Guid>,
    group: Option<Guid>,
    group_name: bool,
    decode: Option<Guid>,
    custom: Vec<CustomTrait>,
    mode: Option<Mode>,
    set_information: Option<&'static str>,
    target_version: Option<(Span, Expr)>,
    is_protected: bool,
    debug: bool,
}

/// A trait of the user's own, as `custom_trait(128, b"data")` states it.
struct CustomTrait {
    span: Span,
    kind: u8,
    data: Vec<u8>,
}

impl Provider {
    /// Checks the parsed input. Reports everything that is wrong to `errors`.
    pub(crate) fn check(syntax: ProviderSyntax, errors: &mut Errors) -> Self {
        let mut options = Options::default();
        for item in syntax.items {
            options.read(item, errors);
        }
        let (name, name_span) = match &syntax.name {
            Some(name) => {
                reject_nul(name, errors);
                (name.value(), name.span())
            }
            None => (String::new(), syntax.symbol.span()),
        };
        let traits = encode_traits(&name, name_span, &options, errors);
        let set_information = match (options.set_information, options.target_version) {
            (Some(choice), _) => SetInformation::Chosen(choice),
            (None, Some((span, version))) => SetInformation::ByVersion(span, version),
            (None, None) => SetInformation::ByBuild,
        };
        Self {
            attributes: syntax.attributes,
            visibility: syntax.visibility,
            symbol: syntax.symbol,
            id: options.id.unwrap_or_else(|| Guid::from_name(&name)),
            traits,
            mode: options.mode.unwrap_or_default(),
            set_information,
            is_protected: options.is_protected,
            debug: options.debug,
        }
    }
}

impl Options {
    /// Reads one option.
    fn read(&mut self, item: Item, errors: &mut Errors) {
        let written = item.name.to_string();
        let span = item.span();
        let name = match written.as_str() {
            "groupid" => "group_id",
            "groupname" => "group_name",
            other => other,
        };
        if self.is_set(name) {
            errors.add(span, format!("`{written}` is given twice"));
        }
        let mut args = Args::from_item(item);
        match name {
            "debug" => self.debug = true,
            "protected" => self.is_protected = true,
            "id" => self.id = guid(&mut args, errors),
            "group_id" => self.group = guid(&mut args, errors),
            "decode_id" => self.decode = guid(&mut args, errors),
            "group_name" => self.group_name = group_name(&mut args, errors),
            "custom_trait" => self.custom.extend(custom_trait(&mut args, errors)),
            "mode" => {
                self.mode = choice(&mut args, &MODES, errors)
                    .map(|name| if name == "User" { Mode::User } else { Mode::Kernel });
            }
            "set_information" => self.set_information = choice(&mut args, &SET_INFORMATION, errors),
            "target_version" => {
                self.target_version = args
                    .value("a constant `u32`: NTDDI_VERSION in kernel mode, WINVER in user mode", errors)
                    .map(|version| (span, version));
            }
            _ => {
                let hint = nearest(&written, OPTIONS).map_or_else(
                    || format!("options are `{}`", OPTIONS.join("`, `")),
                    |near| format!("did you mean `{near}`?"),
                );
                errors.add(span, format!("unknown option `{written}`; {hint}"));
                return;
            }
        }
        args.finish(errors);
    }

    /// Returns whether an option that is allowed only once has been given already.
    fn is_set(&self, name: &str) -> bool {
        match name {
            "id" => self.id.is_some(),
            "group_id" => self.group.is_some(),
            "group_name" => self.group_name,
            "decode_id" => self.decode.is_some(),
            "mode" => self.mode.is_some(),
            "protected" => self.is_protected,
            "set_information" => self.set_information.is_some(),
            "target_version" => self.target_version.is_some(),
            _ => false,
        }
    }
}

/// Reads a GUID from a string literal: 8-4-4-4-12 digits or 32 digits, with or without braces.
fn guid(args: &mut Args, errors: &mut Errors) -> Option<Guid> {
    let text =
        args.name("a GUID as a string literal, for example `\"20cf46dd-3b90-476c-94e9-4e74bbc30e31\"`", errors)?;
    let value = text.value();
    let error = match Guid::parse(&value) {
        Ok(guid) => return Some(guid),
        Err(error) => error,
    };
    let bare = value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(&value);
    if bare.len() == 32 && bare.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return u128::from_str_radix(bare, 16).ok().map(Guid::from_u128);
    }
    errors.add(text.span(), error);
    None
}

/// Checks a group name, which is used only on other platforms.
fn group_name(args: &mut Args, errors: &mut Errors) -> bool {
    let Some(text) = args.name("a name as a string literal, for example `\"mygroup\"`", errors) else {
        return true;
    };
    if !text.value().bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()) {
        errors.add(text.span(), "a group name has only the letters a to z and digits");
    }
    true
}

/// Reads the type and the bytes of a custom trait.
fn custom_trait(args: &mut Args, errors: &mut Errors) -> Option<CustomTrait> {
    const EXPECTED: &str = "a type from 128 to 255 and the bytes, for example `custom_trait(128, b\"data\")`";
    let span = args.span();
    let kind = args.value(EXPECTED, errors)?;
    let number = match Words::from_expr(&kind) {
        Words::Integer(Some(number @ 128..=255)) => u8::try_from(number).ok(),
        _ => None,
    };
    if number.is_none() {
        errors.add(kind.span(), "a custom trait's type is a number from 128 to 255");
    }
    let value = args.value(EXPECTED, errors)?;
    let data = match ungrouped(&value) {
        Expr::Lit(ExprLit { lit: Lit::ByteStr(bytes), .. }) => bytes.value(),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.value().into_bytes(),
        other => {
            errors.add(other.span(), "a custom trait's data is a literal, for example `b\"data\"` or `\"data\"`");
            return None;
        }
    };
    Some(CustomTrait { span, kind: number?, data })
}

/// Reads one of a fixed set of names.
fn choice(args: &mut Args, names: &[&'static str], errors: &mut Errors) -> Option<&'static str> {
    let list = format!("`{}`", names.join("`, `"));
    let value = args.value(&format!("one of {list}"), errors)?;
    if let Words::Name(name) = Words::from_expr(&value)
        && let Some(known) = names.iter().find(|known| name == **known)
    {
        return Some(known);
    }
    errors.add(value.span(), format!("expected one of {list}"));
    None
}

/// Encodes the traits blob. If it is too large, reports an error at the custom trait or name that causes it.
fn encode_traits(name: &str, name_span: Span, options: &Options, errors: &mut Errors) -> Vec<u8> {
    let custom: Vec<(u8, &[u8])> = options.custom.iter().map(|custom| (custom.kind, custom.data.as_slice())).collect();
    let mut builder = TraitsBuilder::new(name).with_custom(&custom);
    if let Some(group) = options.group {
        builder = builder.with_group(group);
    }
    if let Some(decode) = options.decode {
        builder = builder.with_decode_guid(decode);
    }
    let mut blob = vec![0; builder.encoded_len().unwrap_or(0)];
    match builder.encode_into(&mut blob) {
        // A NUL in the name has already been reported.
        Ok(()) | Err(TraitsError::NulInName) => {}
        Err(error) => {
            let name_fits = TraitsBuilder::new(name).encoded_len().is_ok();
            let custom_span = options.custom.last().map(|custom| custom.span);
            errors.add(custom_span.filter(|_| name_fits).unwrap_or(name_span), error);
        }
    }
    blob
}
