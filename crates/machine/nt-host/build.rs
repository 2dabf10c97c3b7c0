//! Rejects other hosts with one message. The crates below are empty there, so the compiler would only report missing names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, wanted: &str| std::env::var(variable).is_ok_and(|value| value == wanted);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux");
    if !is_linux || !is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        println!(
            "cargo::error=nt-host runs drivers on Linux on x86-64 only. On Windows use WSL 2; elsewhere a virtual machine \
             or a CI service."
        );
    }
}
