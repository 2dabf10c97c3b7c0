//! The macros that declare what is sent.

/// Declares enums of messages: each message has its members and a number.
macro_rules! messages {
    ($($(#[$doc:meta])* $vis:vis $name:ident {
        $($(#[$message_doc:meta])* $message:ident { $($member:ident: $type:ty),* } = $number:literal,)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $($(#[$message_doc])* $message { $($member: $type),* },)*
        }

        $crate::codec::variants! { $name { $($message { $($member),* } = $number,)* } }
    )* };
}
pub(crate) use messages;

/// Declares structures that can be sent.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident: $type:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$member_doc])* pub(crate) $member: $type,)*
        }

        $crate::codec::structures! { $name { $($member),* } }
    )* };
}
pub(crate) use records;

/// Encodes structures as their members, in order.
macro_rules! structures {
    ($($name:ident { $($member:ident),* $(,)? })*) => { $(impl $crate::codec::Wire for $name {
        fn put(&self, out: &mut Vec<u8>) {
            let Self { $($member),* } = self;
            $($crate::codec::Wire::put($member, out);)*
        }

        fn get(from: &mut &[u8]) -> Option<Self> {
            Some(Self { $($member: $crate::codec::Wire::get(from)?),* })
        }
    })* };
}
pub(crate) use structures;

/// Encodes enums as the number of the variant and its members. A variant has its members by name, or one value in parentheses.
macro_rules! variants {
    ($($name:ident { $($variant:ident $({ $($member:ident),* $(,)? })? $(($value:ident))? = $number:literal,)* })*) => { $(
        impl $crate::codec::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $({ $($member),* })? $(($value))? => {
                        out.push($number);
                        $($($crate::codec::Wire::put($member, out);)*)?
                        $($crate::codec::Wire::put($value, out);)?
                    })*
                }
            }

            fn get(from: &mut &[u8]) -> Option<Self> {
                match <u8 as $crate::codec::Wire>::get(from)? {
                    $($number => {
                        $(let $value = $crate::codec::Wire::get(from)?;)?
                        Some(Self::$variant $({ $($member: $crate::codec::Wire::get(from)?),* })? $(($value))?)
                    })*
                    _ => None,
                }
            }
        }
    )* };
}
pub(crate) use variants;
