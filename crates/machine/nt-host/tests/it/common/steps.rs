//! The named steps of drivers in C (`drivers/c/checks.h`), each a test of its own.

use etw_types::NtStatus;
use nt_host::{Answer, Builder, NtHost};

/// Runs the steps, or lists them.
const STEPS: u32 = 0x0022_2000;
/// Asks for the names of the steps.
const NAMES: &str = "?";
/// The room for a reply.
const ROOM: u32 = 0x1000;

fn request(host: &NtHost, input: &str) -> Answer {
    let device = host.add_device().expect("a device");
    device.ioctl(STEPS, input.as_bytes(), ROOM).expect("a reply")
}

/// Has a driver run the step with this name, or all steps if the name is empty, and checks that none fails.
fn succeed(host: &NtHost, name: &str) {
    let reply = request(host, name);
    assert_eq!(reply.status, NtStatus::Success, "the driver has no step {name}");
    let failed = String::from_utf8_lossy(&reply.output);
    assert!(failed.is_empty(), "these steps failed:\n{failed}");
}

/// Has a driver run all steps in one process, and checks that none fails.
pub(crate) fn all_succeed(host: &NtHost) {
    succeed(host, "");
}

/// Has a driver run all steps in one process, and checks that none fails and that nothing was found.
pub(crate) fn run_all(builder: Builder) -> NtHost {
    let host = builder.start().expect("DriverEntry");
    all_succeed(&host);
    host.unload().expect("unload").assert_clean();
    host
}

/// Has a driver run one step, and checks that it succeeds and that nothing was found.
pub(crate) fn run(builder: Builder, name: &str) {
    let host = builder.start().expect("DriverEntry");
    succeed(&host, name);
    host.unload().expect("unload").assert_clean();
}

/// Returns the names of a driver's steps, in order.
pub(crate) fn names(builder: Builder) -> Vec<String> {
    let host = builder.start().expect("DriverEntry");
    String::from_utf8_lossy(&request(&host, NAMES).output).lines().map(str::to_owned).collect()
}

/// Declares a module with a test for each step of a driver, which has the step's name, and one that no step is without a test.
/// The expression is the builder of the host.
macro_rules! steps {
    ($module:ident, $builder:expr; $($step:ident),* $(,)?) => {
        mod $module {
            use super::*;

            $(
                #[test]
                fn $step() {
                    crate::common::steps::run($builder, stringify!($step));
                }
            )*

            #[test]
            fn every_step_has_a_test() {
                assert_eq!(crate::common::steps::names($builder), [$(stringify!($step)),*]);
            }
        }
    };
}
pub(crate) use steps;
