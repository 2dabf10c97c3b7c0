//! Checks of running sessions and registered providers.

use etw_session::info::{DisallowedProviders, GroupInstances, ProviderInstances};
use etw_session::{Machine, SessionStatus};
use etw_types::session::{TraceEnableInfo, mode};
use etw_types::{Guid, Level, Win32Error};

use super::Verdict::{Good, Possible, Problem, Unknown};
use super::{Checks, Requested};
use crate::cli::Missed;
use crate::values::{Provider, counted, hint};

/// The maximum number of sessions that can enable one provider.
const MAX_SESSIONS: usize = 8;

impl From<&TraceEnableInfo> for Requested {
    fn from(info: &TraceEnableInfo) -> Self {
        Self {
            level: Level::from_int(info.level),
            any: info.match_any,
            all: info.match_all,
            property: info.enable_property,
        }
    }
}

/// The logger id of a session in lists of requests: the low 16 bits of its handle.
fn logger_id(status: &SessionStatus) -> u64 {
    status.handle & 0xFFFF
}

fn count(number: usize, noun: &str) -> String {
    counted(u64::try_from(number).unwrap_or(u64::MAX), noun)
}

/// Checks everything that can keep an event out of the session, or out of all sessions that enabled the provider.
pub(super) fn checks(machine: &Machine, provider: &Provider, session: Option<&str>, missed: &Missed) -> Checks {
    let mut checks = Checks::default();
    let sessions = machine.sessions();
    match &sessions {
        Ok(sessions) => {
            checks.add("privileges", Good, format!("sessions can be listed: {}", count(sessions.len(), "session")));
        }
        Err(error) => checks.add("privileges", Problem, error.to_string()),
    }
    let mut sessions = sessions.unwrap_or_default();
    if let Some(name) = session {
        let names: Vec<String> = sessions.iter().map(|status| status.properties.name.clone()).collect();
        sessions.retain(|status| status.properties.name.eq_ignore_ascii_case(name));
        if sessions.is_empty() {
            let finding = format!("no session '{name}' is running{}", hint(name, names));
            checks.advise("session", Problem, finding, format!("start it: etwctl start {name} --etl FILE"));
        }
    }
    let instances = registered(machine, provider, &mut checks);
    let groups = groups(machine, provider, &mut checks);
    let find_request = |status: &SessionStatus, requests: &[TraceEnableInfo]| {
        requests.iter().find(|request| u64::from(request.logger_id) == logger_id(status)).map(Requested::from)
    };
    let mut enabled = 0;
    for status in &sessions {
        let name = format!("session '{}'", status.properties.name);
        let direct = instances.0.iter().find_map(|instance| find_request(status, &instance.enabled));
        let by_group = groups.iter().find_map(|(guid, group)| {
            let is_member = group.members.contains(&provider.guid);
            Some((*guid, is_member, find_request(status, &group.enabled)?))
        });
        let requested = match (direct, by_group) {
            (Some(requested), _) => requested,
            (None, Some((guid, true, requested))) => {
                if is_disallowed(machine, status, provider.guid) {
                    let finding = format!("{name} enabled group {guid}, but the provider is on its disallow list");
                    checks.advise("group", Problem, finding, "remove the provider from information class 10");
                    continue;
                }
                checks.add("group", Good, format!("{name} enabled it by group {guid}"));
                requested
            }
            (None, Some((guid, false, _))) if session.is_some() => {
                let finding = format!("{name} enabled group {guid}, but the provider is not a member of it");
                let advice =
                    "define the provider with this group, and check the status that Provider::traits_status returns";
                checks.advise("traits", Problem, finding, advice);
                continue;
            }
            _ if session.is_some() => {
                not_enabled(&name, status, provider, &instances, &mut checks);
                continue;
            }
            _ => continue,
        };
        enabled += 1;
        checks.add("session", Good, format!("{name} enabled the provider"));
        if instances.0.iter().any(|instance| instance.is_legacy() && instance.is_registered()) && requested.any == 0 {
            let finding = format!("{name} enabled a classic provider without keywords, so it gets no events");
            checks.advise("keywords", Problem, finding, "enable the provider with --any 0xffffffff");
        } else {
            missed.check_level(requested, &name, &mut checks);
            missed.check_keywords(requested, &name, &mut checks);
        }
        delivery(status, &name, &mut checks);
        checks.add("filters", Unknown, format!("Windows does not report which filters {name} uses"));
    }
    if enabled == 0 && session.is_none() {
        let advice = format!("run etwctl record {0} --live, or etwctl enable SESSION {0}", provider.name);
        checks.advise("session", Problem, "no session enabled the provider", advice);
    }
    checks
}

/// Checks who registered the provider.
fn registered(machine: &Machine, provider: &Provider, checks: &mut Checks) -> ProviderInstances {
    let advice = "load the driver, and check the status that register returned; check the spelling of the name, from which the \
                  id is computed (case does not matter)";
    match machine.provider(provider.guid) {
        Ok(instances) => {
            let registered = instances.0.iter().filter(|instance| instance.is_registered());
            let drivers = registered.clone().filter(|instance| instance.process_id == 0).count();
            match registered.count() {
                0 => checks.advise("registration", Problem, "a session enabled it, but it is not registered", advice),
                all => {
                    let processes = all - drivers;
                    let finding = format!("registrations: {processes} by processes, {drivers} by drivers");
                    checks.add("registration", Good, finding);
                }
            }
            instances
        }
        Err(error) if error.code() == Win32Error::WmiInstanceNotFound => {
            checks.advise("registration", Problem, "it is not registered, and no session enabled it", advice);
            ProviderInstances::default()
        }
        Err(error) => {
            checks.add("registration", Unknown, error.to_string());
            ProviderInstances::default()
        }
    }
}

/// Returns all groups, and checks whether the provider is a member of one. It is a member only after its traits were set.
fn groups(machine: &Machine, provider: &Provider, checks: &mut Checks) -> Vec<(Guid, GroupInstances)> {
    let guids = match machine.groups() {
        Ok(guids) => guids,
        // Older releases of Windows have no groups.
        Err(error) => {
            checks.add("traits", Unknown, format!("groups cannot be listed: {error}"));
            return Vec::new();
        }
    };
    let groups: Vec<_> = guids.into_iter().filter_map(|guid| Some((guid, machine.group(guid).ok()?))).collect();
    match groups.iter().find(|(_, group)| group.members.contains(&provider.guid)) {
        Some((guid, _)) => {
            checks.add("traits", Good, format!("they were set: the provider is a member of group {guid}"));
        }
        None => checks.add("traits", Unknown, "the provider is in no group: its traits name none, or were not set"),
    }
    groups
}

fn is_disallowed(machine: &Machine, status: &SessionStatus, provider: Guid) -> bool {
    let list = machine.attach(&status.properties.name).and_then(|session| session.get::<DisallowedProviders>());
    list.is_ok_and(|list| list.0.contains(&provider))
}

/// Adds the problem that the session did not enable the provider.
fn not_enabled(
    name: &str,
    status: &SessionStatus,
    provider: &Provider,
    instances: &ProviderInstances,
    checks: &mut Checks,
) {
    let others = instances.0.iter().map(|instance| instance.enabled.len()).max().unwrap_or_default();
    let finding = format!("{name} did not enable the provider; {} did", count(others, "session"));
    let advice = if others >= MAX_SESSIONS {
        format!("disable it in another session first: at most {MAX_SESSIONS} sessions can enable a provider")
    } else {
        format!("run etwctl enable {} {}", status.properties.name, provider.name)
    };
    checks.advise("session", Problem, finding, advice);
}

/// Checks what happens to events that the session accepts: losses and output.
fn delivery(status: &SessionStatus, name: &str, checks: &mut Checks) {
    if status.has_losses() {
        let events = status.events_lost;
        let buffers = status.log_buffers_lost;
        let unread = status.real_time_buffers_lost;
        let finding = format!("{name} lost {events} events, {buffers} buffers and {unread} real-time buffers");
        checks.advise("losses", Possible, finding, "use more or larger buffers, fewer keywords, or a faster consumer");
    } else {
        checks.add("losses", Good, format!("{name} lost nothing"));
    }
    let modes = status.properties.mode;
    let file = status.properties.log_file.as_ref();
    match file {
        _ if modes & mode::BUFFERING != 0 => {
            let finding = format!("{name} keeps the newest events in memory and writes them only when it is flushed");
            checks.advise("output", Possible, finding, format!("run etwctl flush {}", status.properties.name));
        }
        Some(file) if modes & mode::CIRCULAR != 0 => {
            let finding = format!("{name} overwrites the oldest events of {}", file.display());
            checks.advise("output", Possible, finding, "use a larger file, or one that is not circular");
        }
        Some(file) => {
            let advice =
                "a buffer is written when it is full, by the flush timer, by etwctl flush, or when the session stops";
            checks.advise("output", Good, format!("{name} writes {}", file.display()), advice);
        }
        None => checks.add("output", Good, format!("{name} delivers to consumers in real time and writes no file")),
    }
}

#[cfg(test)]
#[cfg(not(windows))]
mod tests {
    use std::sync::Arc;

    use etw_engine::Engine;
    use etw_session::info::DisallowList;
    use etw_session::platform::EngineSystem;
    use etw_session::{Enable, Machine, Properties, Session};
    use etw_types::session::enable::IGNORE_KEYWORD_0;
    use etw_types::traits::TraitsBuilder;
    use etw_types::{EventInfoClass, Guid, Level};

    use super::checks;
    use crate::cli::Missed;
    use crate::values::Provider;

    const GROUP: Guid = Guid::from_u128(0x77);

    /// A machine with a provider, if `is_loaded`, and a session without requests.
    fn machine(is_loaded: bool) -> (Machine, Session, Provider) {
        let engine = Engine::new();
        let provider: Provider = "MyDriver".parse().unwrap();
        if is_loaded {
            let handle = engine.register(provider.guid, None, |_| {}).unwrap();
            let traits = TraitsBuilder::new("MyDriver").with_group(GROUP);
            let mut blob = vec![0; traits.encoded_len().unwrap()];
            traits.encode_into(&mut blob).unwrap();
            assert!(engine.set_information(handle, EventInfoClass::SetTraits, &blob[..]).is_success());
        }
        let machine = Machine::with(Arc::new(EngineSystem::new(engine)));
        let session = machine.start(&Properties::new("S").real_time()).unwrap();
        (machine, session, provider)
    }

    /// The problems, with their findings.
    fn problems(machine: &Machine, provider: &Provider, session: Option<&str>, missed: &Missed) -> Vec<String> {
        let checks = checks(machine, provider, session, missed).0;
        let problem = checks.into_iter().filter(|(_, verdict, ..)| *verdict == super::Problem);
        problem.map(|(about, _, finding, _)| format!("{about}: {finding}")).collect()
    }

    #[test]
    fn an_unregistered_provider_is_reported_with_whether_a_session_enabled_it() {
        let (machine, session, provider) = machine(false);
        let of = || problems(&machine, &provider, None, &Missed::default());
        assert_eq!(
            of(),
            [
                "registration: it is not registered, and no session enabled it",
                "session: no session enabled the provider"
            ]
        );
        session.provider(provider.guid).enable(&Enable::new(Level::Verbose)).unwrap();
        assert_eq!(of(), ["registration: a session enabled it, but it is not registered"]);
    }

    #[test]
    fn the_request_of_a_session_is_held_against_the_event_that_is_missed() {
        let (machine, session, provider) = machine(true);
        let of = |level: u8, keyword: u64| {
            let missed = Missed { level: Some(Level::from_int(level)), keyword: Some(keyword) };
            problems(&machine, &provider, Some("s"), &missed)
        };
        assert_eq!(of(5, 0), ["session: session 'S' did not enable the provider; 0 sessions did"]);
        let request = Enable { any: 0x6, all: 0x2, ..Enable::new(Level::Warning) };
        session.provider(provider.guid).enable(&request).unwrap();
        assert_eq!(of(3, 0x2), [""; 0]);
        assert_eq!(of(3, 0), [""; 0]);
        assert_eq!(of(4, 0x2), ["level: session 'S' accepts events up to level 3; the event has level 4"]);
        let masks = "keywords: session 'S' accepts events with a keyword of 0x6 and all of 0x2";
        assert_eq!(of(3, 0x4), [format!("{masks}; the event has keyword 0x4")]);
        session.provider(provider.guid).enable(&request.property(IGNORE_KEYWORD_0)).unwrap();
        assert_eq!(of(3, 0), [format!("{masks}, but no events without a keyword")]);
    }

    #[test]
    fn limits_that_may_be_the_cause_are_no_problems() {
        let (machine, session, provider) = machine(true);
        session.provider(provider.guid).enable(&Enable { any: 0x2, ..Enable::new(Level::Error) }).unwrap();
        let checks = checks(&machine, &provider, None, &Missed::default());
        assert_eq!(checks.problems(), 0, "{checks:?}");
        let possible = checks.0.iter().filter(|(_, verdict, ..)| *verdict == super::Possible);
        assert_eq!(possible.map(|(about, ..)| *about).collect::<Vec<_>>(), ["level", "keywords"]);
    }

    #[test]
    fn a_group_enables_its_members_unless_the_session_disallows_them() {
        let (machine, session, provider) = machine(true);
        let of = |provider: &Provider| problems(&machine, provider, Some("S"), &Missed::default());
        session.group(GROUP).enable(&Enable::new(Level::Verbose)).unwrap();
        assert_eq!(of(&provider), [""; 0]);
        let other: Provider = "Other".parse().unwrap();
        session.provider(other.guid).enable(&Enable::new(Level::Verbose)).unwrap();
        session.provider(other.guid).disable().unwrap();
        assert!(of(&other).last().unwrap().ends_with("but the provider is not a member of it"), "{:?}", of(&other));
        session.set(&DisallowList(vec![provider.guid])).unwrap();
        let found = of(&provider);
        assert!(found.iter().any(|found| found.ends_with("but the provider is on its disallow list")), "{found:?}");
    }

    #[test]
    fn a_mistyped_session_gets_a_suggestion() {
        let (machine, _session, provider) = machine(true);
        let _other = machine.start(&Properties::new("Recorder").real_time()).unwrap();
        let found = problems(&machine, &provider, Some("Recordre"), &Missed::default());
        assert_eq!(found, ["session: no session 'Recordre' is running; did you mean 'Recorder'?"]);
    }
}
