//! The macro that declares steps.

/// Declares steps. Each has its values and its number between the processes, and then:
///
/// - `read`: for each form the name, what its value is called, and how it is read. The tests read the examples.
/// - `write`: the form and the value that lead to the step.
/// - `test`: its lines in a test.
macro_rules! steps {
    ($(#[$doc:meta])* $name:ident { $(
        $(#[$step_doc:meta])*
        $step:ident { $($value:ident: $type:ty),* } = $number:literal {
            $(read $form:literal <$called:literal> $(default $default:literal)? $(help $help:literal)? like [$($example:literal),+]
                => $read:expr;)+
            write => $write:expr;
            test |$code:ident| => $test:expr;
        }
    )* }) => {
        $crate::codec::messages! {
            $(#[$doc])*
            #[expect(missing_docs, reason = "the documentation of a step names its values")]
            pub $name { $($(#[$step_doc])* $step { $($value: $type),* } = $number,)* }
        }

        impl Eq for $name {}

        impl $name {
            /// Returns the forms of all steps, in the order in which the help shows them.
            #[must_use]
            pub fn forms() -> &'static [$crate::steps::Form<Self>] {
                const FORMS: &[$crate::steps::Form<$name>] = &[$($(
                    $crate::steps::Form {
                        name: $form,
                        value: $called,
                        default: [$(Some($default),)? None][0],
                        help: concat!($($help)?),
                        examples: &[$($example),+],
                        read: $read,
                    },
                )+)*];
                FORMS
            }

            /// Returns the name of the step's form, and its value.
            #[must_use]
            pub(crate) fn written(&self) -> $crate::steps::form::Written {
                match self {
                    $(Self::$step { $($value),* } => $write,)*
                }
            }

            /// Appends the lines of a test that do the same.
            pub(crate) fn test(&self, code: &mut $crate::steps::Code) {
                match self {
                    $(Self::$step { $($value),* } => {
                        let $code = code;
                        $test;
                    })*
                }
            }
        }
    };
}
pub(super) use steps;
