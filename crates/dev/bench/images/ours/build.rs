//! Sets the link arguments of a driver.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in
        ["/DRIVER", "/SUBSYSTEM:NATIVE", "/ENTRY:DriverEntry", "/NODEFAULTLIB", "/OPT:REF,ICF", "/DYNAMICBASE"]
    {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
