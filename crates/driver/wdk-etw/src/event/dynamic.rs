//! TraceLogging events whose schema is known only at run time.

use etw_types::tracelogging::{BuildError, EventBuilder};
use etw_types::{EventDataDescriptor, EventDescriptor, Guid};

use crate::backend::{Mode, Status};
use crate::provider::Provider;

impl<M: Mode> Provider<M> {
    /// Writes a TraceLogging event that was assembled in the caller's buffers.
    ///
    /// For a schema that is known at compile time, [`write_event!`](crate::write_event) is cheaper and checks more.
    /// Call [`enabled`](Self::enabled) before building the event, because the fields are encoded in any case. Returns
    /// success without writing if the provider is not registered or no session has the event enabled.
    ///
    /// ```
    /// use wdk_etw::tracelogging::EventBuilder;
    /// use wdk_etw::{EventDescriptor, Keyword, Level};
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use etw_symbols as _;
    /// # let register = "STATUS";
    /// # let value = 7;
    /// const REGISTER: EventDescriptor = EventDescriptor::new(Level::Verbose, Keyword::from_bits(1));
    /// if PROVIDER.enabled(REGISTER.level, REGISTER.keyword) {
    ///     let mut metadata = [0; 128];
    ///     let mut payload = [0; 64];
    ///     let event = EventBuilder::new(&mut metadata, &mut payload, "Register", 0).hex32(register, value);
    ///     PROVIDER.write_built(&REGISTER, None, None, event);
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` (user mode: `ERROR_INSUFFICIENT_BUFFER`) if a buffer was full, and
    /// `STATUS_INVALID_PARAMETER` if a name, a tag, a count or a type is outside its limits; nothing is written then.
    /// Otherwise returns the errors of [`write`](Self::write).
    ///
    /// # IRQL
    ///
    /// Any; above `APC_LEVEL` the buffers must be resident.
    pub fn write_built(
        &self,
        descriptor: &EventDescriptor,
        activity: Option<&Guid>,
        related: Option<&Guid>,
        event: EventBuilder<'_>,
    ) -> M::Status {
        match event.finish() {
            Ok((metadata, payload)) => self.write(
                descriptor,
                activity,
                related,
                &[
                    self.traits_descriptor(),
                    EventDataDescriptor::event_metadata(metadata),
                    EventDataDescriptor::new(payload),
                ],
            ),
            Err(BuildError::MetadataFull | BuildError::PayloadFull) => M::Status::BUFFER_TOO_SMALL,
            Err(_) => M::Status::INVALID_PARAMETER,
        }
    }
}
