//! What a session lost, why, and what helps.

use etw_session::{Machine, SessionStatus};

use crate::failure::Failure;
use crate::values::counted;

/// Fails if a session lost anything, or if its file could not be written to its end.
pub(super) fn check(machine: &Machine, status: &SessionStatus) -> Result<(), Failure> {
    match causes(status, machine.file_error(status.handle)).as_slice() {
        [] => Ok(()),
        causes => Err(Failure::Lost(format!("the recording is incomplete: {}", causes.join("; ")))),
    }
}

fn causes(status: &SessionStatus, file_error: Option<String>) -> Vec<String> {
    let buffers = status.log_buffers_lost;
    let unread = status.real_time_buffers_lost;
    let count = |number: u32, what| counted(number.into(), what);
    let mut causes = Vec::new();
    match (file_error, buffers) {
        (None, 0) => {}
        (Some(error), 0) => causes.push(error),
        (Some(error), _) => causes.push(format!("{} not written: {error}", count(buffers, "buffer"))),
        (None, _) if status.properties.maximum_file_size != 0 => causes.push(format!(
            "{} did not fit into the file, which has reached its maximum size; use a larger size or a circular file",
            count(buffers, "buffer")
        )),
        (None, _) => causes
            .push(format!("{} not written to the file; check the free space of its disk", count(buffers, "buffer"))),
    }
    if unread != 0 {
        causes.push(format!(
            "{} not delivered, because nothing read them in time; request fewer events, or record to a file",
            count(unread, "buffer")
        ));
    }
    if status.events_lost != 0 {
        let events = count(status.events_lost, "event");
        causes.push(if buffers == 0 && unread == 0 {
            format!(
                "{events} lost, because no buffer was free or an event was larger than a buffer; use more or larger buffers \
                 (start --max-buffers, --buffer), or request fewer events"
            )
        } else {
            format!("{events} lost")
        });
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::causes;
    use etw_session::{Properties, SessionStatus};

    #[test]
    fn every_loss_has_its_cause() {
        let status = |events_lost, log_buffers_lost, real_time_buffers_lost| SessionStatus {
            events_lost,
            log_buffers_lost,
            real_time_buffers_lost,
            ..SessionStatus::default()
        };
        let limited = |status: SessionStatus| SessionStatus {
            properties: Properties { maximum_file_size: 1, ..Properties::default() },
            ..status
        };
        let full = || Some("cannot write a.etl: no space".to_owned());
        for (status, error, expected) in [
            (status(0, 0, 0), None, vec![]),
            (status(0, 0, 0), full(), vec!["cannot write a.etl: no space"]),
            (status(37, 2, 0), full(), vec!["2 buffers not written: cannot write a.etl: no space", "37 events lost"]),
            (limited(status(1, 1, 0)), None, vec!["1 buffer did not fit into the file, which", "1 event lost"]),
            (status(1, 1, 0), None, vec!["1 buffer not written to the file; check the free space", "1 event lost"]),
            (status(1, 0, 1), None, vec!["1 buffer not delivered", "1 event lost"]),
            (status(5, 0, 0), None, vec!["5 events lost, because no buffer was free"]),
        ] {
            let causes = causes(&status, error);
            assert_eq!(causes.len(), expected.len(), "{causes:?}");
            assert!(causes.iter().zip(&expected).all(|(cause, start)| cause.starts_with(start)), "{causes:?}");
        }
    }
}
