//! Link arguments: every image is a driver.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in [
        "/DRIVER",
        "/SUBSYSTEM:NATIVE",
        "/ENTRY:DriverEntry",
        "/NODEFAULTLIB",
        "/OPT:REF,NOICF",
        "/DYNAMICBASE",
        "/DEBUG",
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
