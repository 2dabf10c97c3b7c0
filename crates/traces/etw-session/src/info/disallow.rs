//! Classes 10 and 14: providers that a provider group does not enable on a session.

use etw_types::Guid;

use super::{Settable, list_class, queryable};

list_class! {
    /// Class 10: providers that are not enabled through a group on this session. A list replaces the previous one; an
    /// empty list allows all providers.
    DisallowList(Guid) = SetDisallowList, OfSession
}
impl Settable for DisallowList {}

list_class! {
    /// Class 14: the list of class 10.
    DisallowedProviders(Guid) = DisallowListQuery, OfSession
}
queryable!(DisallowedProviders, 0);
