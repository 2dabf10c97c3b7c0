use wdk_etw::{define_provider, write_event};

define_provider!();
define_provider!("Name");
define_provider!(NO_NAME);
define_provider!(NOT_A_STRING, 5);
define_provider!(NUL, "Nul\0");
define_provider!(OPTIONS, "Name", guid("x"), id("12"), mode(Boot), set_information(Maybe), group_name("Upper"), frobnicate(1));
define_provider!(TWICE, "Name", group_id("20cf46dd-3b90-476c-94e9-4e74bbc30e31"), groupid("20cf46dd-3b90-476c-94e9-4e74bbc30e31"));
define_provider!(TRAITS, "Name", custom_trait(5, b"x"), custom_trait(128), custom_trait(128, DATA), target_version());
define_provider!(VERSION, "Name", target_version("10"));

fn main() {
    // Using a provider whose definition has errors causes no further errors.
    write_event!(NO_NAME, "Event");
    write_event!(OPTIONS, "Event");
    // The first argument must be a provider.
    write_event!(main, "Event");
}
