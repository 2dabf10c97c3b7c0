//! The macros that declare routines with their signatures.

/// Declares routines with their C signatures, and the table of them.
///
/// ```text
/// routines! { pub(super) ROUTINES;
///     /// What it does.
///     #[irql(APC), fails(NO_RESOURCES)]
///     fn IoCreateDevice(&call, driver: GuestPtr<DRIVER_OBJECT>, extension: u32, …) -> Outcome { … }
/// }
/// ```
///
/// Each routine becomes an ordinary function of typed values. Parameters are those of the C declaration, in its order;
/// their types implement [`Argument`](super::Argument). A parameter that the host does not use is `Ignored<T>`, which
/// costs nothing. `&call`, if it is there, is the [`Call`](super::Call) itself. The result implements
/// [`IntoReply`](super::IntoReply): `Outcome` is `NTSTATUS`; `Result<(), Fault>` or nothing is `VOID`.
///
/// The first attribute has the highest IRQL, followed by methods of [`Routine`](super::Routine), as in `keeps` or
/// `fails(NO_RESOURCES)`. Attributes with an expression of the parameters may follow, in this order: `#[limit(irql)]`, the
/// highest IRQL for a call with these arguments, if it is lower for some; `#[undoes(condition)]`, whether this call undoes
/// an earlier one; `#[raises(condition)]`, whether this call raises an exception where it would return NULL; and
/// `#[on_failure(note)]`, evaluated when the call has failed.
#[macro_export]
macro_rules! routines {
    ($($declarations:tt)*) => { $crate::declare! { 0; $($declarations)* } };
}

/// Declares functions of the framework like [`routines!`]. The driver's globals, the first argument of each function,
/// are implicit.
#[macro_export]
macro_rules! functions {
    ($($declarations:tt)*) => { $crate::declare! { 1; $($declarations)* } };
}

/// Implements [`routines!`] and [`functions!`]: the number is that of implicit arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! declare {
    // Not in the repetition below, where the parameters of a routine without an expression cannot be named.
    (@with_parameters $implicit:literal, [$($argument:ident: $type:ty),*]) => { None };
    (@with_parameters $implicit:literal, [$($argument:ident: $type:ty),*], $value:expr) => {
        Some(|call| {
            let mut slots = $crate::routine::Slots::new(call, $implicit);
            $(
                #[allow(unused_variables, reason = "the expression needs only some of the parameters")]
                let $argument = <$type as $crate::routine::Argument>::take(&mut slots);
            )*
            $value
        })
    };
    (@kind) => { $crate::routine::Kind::Void };
    (@kind $result:ty) => { <$result as $crate::routine::IntoReply>::KIND };
    (
        $implicit:literal; $visibility:vis $table:ident;
        $(
            $(#[doc = $doc:literal])*
            #[irql($irql:expr) $(, $property:ident $(($value:expr))?)*]
            $(#[limit($limit:expr)])?
            $(#[undoes($undoes:expr)])?
            $(#[raises($raises:expr)])?
            $(#[on_failure($note:expr)])?
            fn $name:ident($(&$call:ident $(,)?)? $($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block
        )*
    ) => {
        $(
            $(#[doc = $doc])*
            #[allow(non_snake_case, reason = "the routine's name in C")]
            #[allow(clippy::too_many_arguments, reason = "the parameters of the routine in C")]
            #[allow(clippy::unnecessary_wraps, reason = "the type of the result is that of the routine in C")]
            fn $name($($call: &$crate::routine::Call,)? $($argument: $type),*) $(-> $result)? $body
        )*

        $visibility const $table: &[$crate::routine::Routine] = &[
            $(
                $crate::routine::Routine::new(
                    stringify!($name),
                    $irql,
                    $crate::routine::Signature {
                        declared: &[$(<$type as $crate::routine::Argument>::KINDS),*],
                        result: $crate::declare!(@kind $($result)?),
                    },
                    |call| {
                        #[allow(unused_mut, unused_variables, reason = "a routine may have no parameters")]
                        let mut slots = $crate::routine::Slots::new(call, $implicit);
                        let result = $name(
                            $({
                                let $call = call;
                                $call
                            },)?
                            $(<$type as $crate::routine::Argument>::take(&mut slots)),*
                        );
                        $crate::routine::IntoReply::into_reply(result)
                    },
                )
                .declared_in(file!())
                $(.$property($($value)?))*
                .limited($crate::declare!(@with_parameters $implicit, [$($argument: $type),*] $(, $limit)?))
                .undoes($crate::declare!(@with_parameters $implicit, [$($argument: $type),*] $(, $undoes)?))
                .raises($crate::declare!(@with_parameters $implicit, [$($argument: $type),*] $(, $raises)?))
                .on_failure($crate::declare!(@with_parameters $implicit, [$($argument: $type),*] $(, $note)?))
            ),*
        ];
    };
}
