//! Classes 10 and 14: providers that a provider group does not enable on a session.

use super::{Information, Settable, Words, list_class, queryable};
use crate::Guid;

list_class! {
    /// Class 10: providers that are not enabled through a group on this session. A list replaces the previous one; an
    /// empty list allows all providers.
    DisallowList(Guid) = SetDisallowList, OfSession
}

impl Settable for DisallowList {
    const WORDS: Words = Words::Providers(|providers| Ok(Self(providers).encode()));
}

list_class! {
    /// Class 14: the list of class 10.
    DisallowedProviders(Guid) = DisallowListQuery, OfSession
}
queryable!(DisallowedProviders, 0);
