//! Sets the link arguments. Every image is a driver, except `user`, which is a program without a C runtime.

const DRIVERS: [&str; 11] = [
    "activities",
    "direct",
    "fields",
    "inlined",
    "lifecycle",
    "log",
    "lookup",
    "manifest",
    "off",
    "panicking",
    "tracing",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for driver in DRIVERS {
        for argument in ["/DRIVER", "/SUBSYSTEM:NATIVE", "/ENTRY:DriverEntry"] {
            println!("cargo::rustc-link-arg-bin={driver}={argument}");
        }
    }
    for argument in ["/SUBSYSTEM:CONSOLE", "/ENTRY:start"] {
        println!("cargo::rustc-link-arg-bin=user={argument}");
    }
    for argument in ["/NODEFAULTLIB", "/OPT:REF,ICF", "/DYNAMICBASE"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
