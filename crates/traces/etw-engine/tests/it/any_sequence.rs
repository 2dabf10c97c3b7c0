//! Any sequence of calls with any arguments: nothing panics, and a small model predicts what sessions capture and what
//! callbacks receive.

use std::collections::BTreeMap;

use crate::common::{Note, Notes, OTHER, PROVIDER, write};
use etw_engine::{Block, Buffer, Enable, Engine, EventWrite, Session};
use etw_types::{ControlCode, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, proptest};
use proptest::{collection, prop_assert, prop_assert_eq, prop_oneof};

const PROVIDERS: [Guid; 2] = [PROVIDER, OTHER];
const SESSIONS: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Register(usize),
    Unregister(usize),
    Enable { session: usize, provider: usize, level: u8, any: u64, all: u64 },
    Disable { session: usize, provider: usize },
    Write { registration: usize, level: u8, keyword: u64 },
}

fn steps() -> impl Strategy<Value = Step> {
    let provider = 0..PROVIDERS.len();
    let session = 0..SESSIONS;
    let mask = 0_u64..8;
    prop_oneof![
        provider.clone().prop_map(Step::Register),
        (0_usize..8).prop_map(Step::Unregister),
        (session.clone(), provider.clone(), 0_u8..6, mask.clone(), mask.clone())
            .prop_map(|(session, provider, level, any, all)| Step::Enable { session, provider, level, any, all }),
        (session, provider).prop_map(|(session, provider)| Step::Disable { session, provider }),
        (0_usize..8, prop_oneof![0_u8..7, Just(255)], mask).prop_map(|(registration, level, keyword)| Step::Write {
            registration,
            level,
            keyword
        }),
    ]
}

/// A session's request: level, any, all, with zeros replaced.
type Asked = (u8, u64, u64);

fn wants(&(asked, any, all): &Asked, level: u8, keyword: u64) -> bool {
    level <= asked && (keyword == 0 || (keyword & any != 0 && keyword & all == all))
}

#[derive(Default)]
struct Model {
    asked: BTreeMap<(usize, usize), Asked>,
    captured: [usize; SESSIONS],
}

impl Model {
    fn expected_note(&self, provider: usize) -> Note {
        let asked = self.asked.iter().filter(|((_, of), _)| *of == provider).map(|(_, asked)| *asked);
        asked
            .reduce(|one, two| (one.0.max(two.0), one.1 | two.1, one.2 & two.2))
            .map_or_else(Note::disabled, |(level, any, all)| Note::enabled(level, any, all))
    }
}

struct Registered {
    handle: u64,
    provider: usize,
    notes: Notes,
    last: Note,
}

fn run(steps: &[Step]) -> Result<(), proptest::test_runner::TestCaseError> {
    let engine = Engine::new();
    let sessions: [Session; SESSIONS] = std::array::from_fn(|number| engine.start_session(&number.to_string()));
    let mut registered: Vec<Registered> = Vec::new();
    let mut model = Model::default();
    for step in steps {
        match *step {
            Step::Register(provider) => {
                let notes = Notes::default();
                let handle = engine.register(PROVIDERS[provider], Some(notes.callback()), |_| {});
                let handle =
                    handle.map_err(|status| proptest::test_runner::TestCaseError::fail(format!("{status:?}")))?;
                registered.push(Registered { handle, provider, notes, last: Note::disabled() });
            }
            Step::Unregister(index) if index < registered.len() => {
                let gone = registered.remove(index);
                prop_assert_eq!(engine.unregister(gone.handle), NtStatus::Success);
            }
            Step::Enable { session, provider, level, any, all } => {
                let asked = Enable { level: Level::from_int(level), any, all, ..Enable::default() };
                sessions[session].enable(PROVIDERS[provider], asked);
                let level = if level == 0 { 0xFF } else { level };
                let any = if any == 0 { u64::MAX } else { any };
                model.asked.insert((session, provider), (level, any, all));
            }
            Step::Disable { session, provider } => {
                sessions[session].disable(PROVIDERS[provider]);
                model.asked.remove(&(session, provider));
            }
            Step::Write { registration, level, keyword } if registration < registered.len() => {
                let Registered { handle, provider, .. } = registered[registration];
                let status = write(&engine, handle, Level::from_int(level), keyword, b"x");
                prop_assert_eq!(status, NtStatus::Success);
                for (session, captured) in model.captured.iter_mut().enumerate() {
                    let asked = model.asked.get(&(session, provider));
                    *captured += usize::from(asked.is_some_and(|asked| wants(asked, level, keyword)));
                }
            }
            Step::Unregister(_) | Step::Write { .. } => {}
        }
        for one in &mut registered {
            if let Some(note) = one.notes.take().pop() {
                prop_assert!(note.control != ControlCode::CaptureState);
                one.last = note;
            }
            prop_assert_eq!(&one.last, &model.expected_note(one.provider));
        }
    }
    for (session, captured) in sessions.iter().zip(model.captured) {
        prop_assert_eq!(session.events().len(), captured);
    }
    prop_assert_eq!(engine.findings(), []);
    prop_assert_eq!(engine.registrations().len(), registered.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "too slow in an interpreter")]
    fn callbacks_and_captures_follow_the_model(steps in collection::vec(steps(), 0..60)) {
        run(&steps)?;
    }

    #[test]
    #[cfg_attr(miri, ignore = "too slow in an interpreter")]
    fn any_arguments_return_a_status(
        wrong in any::<u64>(),
        class in 0_u32..6,
        bytes in collection::vec(any::<u8>(), 0..40),
        blocks in collection::vec((any::<u8>(), collection::vec(any::<u8>(), 0..9)), 0..140),
        level in any::<u8>(),
        keyword in any::<u64>(),
    ) {
        let engine = Engine::new();
        engine.start_session("s").enable(PROVIDER, Enable::default());
        let good = engine.register(PROVIDER, None, |_| {}).unwrap_or_default();
        let class = EventInfoClass::from_int(class);
        let blocks: Vec<Block<'_>> = blocks.iter().map(|(kind, bytes)| Block::with_kind(bytes, DataKind::from_int(*kind))).collect();
        let event = EventDescriptor::new(Level::from_int(level), Keyword::from_bits(keyword));
        for handle in [good, wrong] {
            engine.set_information(handle, class, bytes.as_slice());
            engine.set_information(handle, class, Buffer::Null(u32::from(level)));
            let status = engine.write(&EventWrite::new(handle, event), blocks.as_slice());
            prop_assert_eq!(status.is_success(), handle == good && blocks.len() <= 128);
            let _ = engine.provider_enabled(handle, event.level, event.keyword);
        }
        let mut id = Guid::from_u128(u128::from(wrong));
        engine.activity_id_control(u32::from(level), &mut id);
        prop_assert_eq!(engine.unregister(good), NtStatus::Success);
        prop_assert_eq!(engine.unregister(wrong), NtStatus::InvalidHandle);
    }
}
