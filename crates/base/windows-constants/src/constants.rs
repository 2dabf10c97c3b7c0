//! The notation of the modules: groups of constants with a description and a type.

/// A constant, for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The name in Microsoft's headers.
    pub name: &'static str,
    /// The value. A negative one is extended to all bits.
    pub value: u128,
}

/// Declares the constants of a module: groups, each with a description, which becomes the documentation of its constants, and
/// a type. `ALL` lists them.
macro_rules! constants {
    ($($description:literal $type:ty { $($name:ident = $value:expr,)+ })+) => {
        $($(
            #[doc = $description]
            pub const $name: $type = $value;
        )+)+

        #[allow(clippy::cast_sign_loss, clippy::cast_lossless, trivial_numeric_casts, reason = "any integer type becomes the widest")]
        pub(crate) const ALL: &[crate::Constant] =
            &[$($(crate::Constant { name: stringify!($name), value: $name as u128 },)+)+];
    };
}
