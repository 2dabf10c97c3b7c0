//! Queries every information class of session control, and keeps the status of each.
//!
//! On Windows the statuses are those of the kernel. Elsewhere they are those of the engine that replaces it.

use etw_session::info::{self, Facts};
use etw_session::{Error, Machine, Properties, Session};
use etw_types::{Guid, Win32Error};

use crate::evidence::ClassStatus;

/// The session that the classes are queried of.
const SESSION: &str = "driver-exercise classes";

/// Starts a session, queries or enumerates every class, and stops the session.
///
/// # Errors
///
/// If the session cannot be started or stopped.
pub fn query(machine: &Machine) -> Result<Vec<ClassStatus>, Error> {
    let session = machine.start(&Properties::new(SESSION).real_time())?;
    let statuses = info::all().iter().map(|facts| status(machine, &session, facts)).collect();
    session.stop()?;
    Ok(statuses)
}

fn status(machine: &Machine, session: &Session, facts: &Facts) -> ClassStatus {
    let result = result(machine, session, facts);
    let status = match &result {
        Ok(length) => format!("{} with {length} bytes", Win32Error::Success),
        Err(error) => error.code().to_string(),
    };
    ClassStatus {
        class: facts.class.as_int(),
        name: facts.short_name(),
        documented: format!("{}; {}", facts.directions().join(", "), facts.since.name),
        status,
    }
}

/// The length of the result.
fn result(machine: &Machine, session: &Session, facts: &Facts) -> Result<usize, Error> {
    if let (None, Some(enumeration)) = (facts.query, facts.enumerate) {
        // The classes that describe one provider or group take its id; there is none with this one.
        let input = if enumeration.takes_guid { Guid::ZERO.to_bytes_le().to_vec() } else { Vec::new() };
        return machine.enumerate_raw(facts.class, &input).map(|bytes| bytes.len());
    }
    let handle = if facts.is_of_session() { session.handle() } else { 0 };
    let buffer = facts.query.map_or_else(Vec::new, |query| (query.buffer)(0));
    machine.query_raw(handle, facts.class, &buffer).map(|bytes| bytes.len())
}

#[cfg(all(test, not(windows)))]
mod tests {
    use super::query;
    use etw_session::Machine;

    #[test]
    fn every_class_has_a_status_beside_its_documentation() {
        let machine = Machine::local();
        let statuses = query(&machine).unwrap();
        assert_eq!(statuses.len(), etw_session::info::all().len());
        let of = |class: u32| statuses.iter().find(|status| status.class == class).unwrap();
        assert!(of(19).status.starts_with("ERROR_SUCCESS") || of(19).status.contains("with 4 bytes"), "{:?}", of(19));
        assert!(statuses.iter().all(|status| !status.documented.is_empty() && !status.status.is_empty()));
        assert!(machine.attach(super::SESSION).is_err(), "the session was stopped");
    }
}
