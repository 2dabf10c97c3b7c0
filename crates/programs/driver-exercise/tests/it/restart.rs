//! A restart of the machine: it is waited for, up to a limit, and a machine that does not come back is not forgotten.

use std::path::PathBuf;
use std::time::Duration;

use command_line::{Inputs, Output, Outputs};
use driver_exercise::{Exercise, Lost, Options, Outcome, Plan, Ran, Status, Step, Target};

/// A machine on which everything succeeds, except the checks of its restart, which end as given.
struct Machine {
    checks: Vec<Result<Ran, Lost>>,
    calls: Vec<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "the result of a call on a machine, which can be lost")]
fn ran(code: i32, output: &str) -> Result<Ran, Lost> {
    Ok(Ran { code, output: output.to_owned(), errors: String::new() })
}

impl Target for Machine {
    fn script(&mut self, name: &str, arguments: &[String], _is_cleanup: bool) -> Result<Ran, Lost> {
        let call = [&[name.to_owned()], arguments].concat().join(" ");
        self.calls.push(call.clone());
        match call.as_str() {
            "machine.ps1" => ran(
                0,
                r#"{"build":26100,"revision":1,"edition":"","architecture":"x64","kmdf":"","test_signing":true,
                    "secure_boot":false,"memory_integrity":false}"#,
            ),
            "restart.ps1 -Check" => self.checks.remove(0),
            _ => ran(0, ""),
        }
    }

    fn path(&self, name: &str) -> String {
        name.to_owned()
    }

    fn fetch(&mut self, _name: &str, _to: &Output) -> Result<(), Lost> {
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Lost> {
        self.calls.push("reconnect".to_owned());
        Ok(())
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn wait(&mut self, _time: Duration) {
        self.calls.push("wait".to_owned());
    }
}

/// Exercises a driver on a machine whose checks end as given. Returns the outcome, and the calls from the restart to the clean-up.
fn exercise(limit: Duration, checks: Vec<Result<Ran, Lost>>) -> (Outcome, Vec<String>) {
    let mut machine = Machine { checks, calls: Vec::new() };
    let out = Outputs::new(Inputs::new()).dir(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).into());
    let options = Options { restart: Some(limit), ..Options::new(out) };
    let outcome = Exercise::new(&mut machine, "driver", &Plan::default(), &options, &mut |_| {}).run();
    assert!(machine.checks.is_empty(), "{:?}", machine.checks);
    let calls = machine.calls.split(|call| call == "restart.ps1 -Now").nth(1).unwrap();
    let calls = calls.split(|call| call.starts_with("collect.ps1")).next().unwrap().to_vec();
    assert_eq!(outcome.status(Step::Uninstall), Some(Status::Passed));
    assert!(outcome.left.is_empty(), "{:?}", outcome.left);
    (outcome, calls)
}

fn reason(outcome: &Outcome) -> &str {
    &outcome.steps.iter().find(|result| result.step == Step::Restart).unwrap().reason
}

#[test]
fn a_machine_that_is_gone_for_a_while_is_reached_again() {
    let gone = || Err(Lost::Connection("no route".into()));
    let (outcome, calls) =
        exercise(Duration::MAX, vec![ran(2, "not yet"), gone(), Err(Lost::TimedOut), gone(), ran(0, "")]);
    assert_eq!(outcome.status(Step::Restart), Some(Status::Passed));
    let check = "restart.ps1 -Check";
    let again = ["reconnect", check];
    let expected = [&[check, "wait", check, "wait"], &again[..], &["wait"], &again, &["wait"], &again].concat();
    assert_eq!(calls, expected);
}

#[test]
fn the_limit_ends_the_wait_and_the_reason_says_why() {
    for (check, text) in
        [(ran(2, "Windows has not restarted yet.\n"), "not restarted yet"), (Err(Lost::TimedOut), "not end in time")]
    {
        let (outcome, calls) = exercise(Duration::ZERO, vec![check]);
        assert_eq!(outcome.status(Step::Restart), Some(Status::Failed));
        assert!(reason(&outcome).starts_with("it was not complete after 0 s: "), "{}", reason(&outcome));
        assert!(reason(&outcome).contains(text), "{}", reason(&outcome));
        assert_eq!(calls.len(), 1);
        assert_eq!(outcome.status(Step::Requests), None);
    }
}

#[test]
fn a_check_that_fails_or_is_interrupted_is_not_repeated() {
    for check in [ran(1, "refused"), Err(Lost::Interrupted)] {
        let (outcome, calls) = exercise(Duration::MAX, vec![check]);
        assert_eq!(outcome.status(Step::Restart), Some(Status::Failed));
        assert_eq!(calls.len(), 1);
    }
}
