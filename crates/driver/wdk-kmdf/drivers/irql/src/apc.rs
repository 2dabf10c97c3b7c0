//! What may be called at most at `APC_LEVEL`.

use wdk_etw::{Guid, compat};

use crate::{APC_LEVEL, at};

/// Reads and sets the activity id of this thread, and restores it.
pub(crate) fn threads() {
    at(APC_LEVEL, || {
        let before = wdk_etw::thread_activity_id().unwrap_or(Guid::ZERO);
        let _ = wdk_etw::set_thread_activity_id(&Guid::from_u128(7));
        let own = compat::Provider::current_thread_activity_id();
        compat::Provider::set_current_thread_activity_id(&own);
        let _ = wdk_etw::set_thread_activity_id(&before);
    });
}
