//! The macro that declares messages.

/// Declares an enum of messages that can be sent.
macro_rules! messages {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$variant_doc:meta])* $variant:ident { $($field:ident: $type:ty),* } = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[$variant_doc])* $variant { $($field: $type),* },)*
        }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant { $($field),* } => {
                        out.push($number);
                        $($field.put(out);)*
                    })*
                }
            }

            fn get(from: &mut &[u8]) -> Option<Self> {
                match u8::get(from)? {
                    $($number => Some(Self::$variant { $($field: Wire::get(from)?),* }),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use messages;
