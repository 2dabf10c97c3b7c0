//! File names that Windows keeps for devices.

/// The names in "Naming Files, Paths, and Namespaces" on Microsoft Learn, and those of the console's handles. The digit of a port
/// follows its name.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
const PORTS: [&str; 2] = ["COM", "LPT"];
const DIGITS: [char; 12] = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '¹', '²', '³'];

/// Returns the device that Windows opens in place of a file with this name, in any folder. The device's name counts in any case and
/// with any extension. A program on another system can create such a file, but no Windows machine can hold it.
///
/// ```
/// use command_line::device_of_name;
///
/// assert_eq!(device_of_name("con.sys").as_deref(), Some("CON"));
/// assert_eq!(device_of_name("console.sys"), None);
/// ```
#[must_use]
pub fn device_of_name(name: &str) -> Option<String> {
    let stem = name.split(['.', ':']).next()?.trim_end_matches(' ').to_ascii_uppercase();
    let port = || PORTS.iter().find_map(|port| stem.strip_prefix(port)).and_then(|rest| rest.parse::<char>().ok());
    let is_device = DEVICES.contains(&stem.as_str()) || port().is_some_and(|digit| DIGITS.contains(&digit));
    is_device.then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::device_of_name;

    #[test]
    fn devices_are_recognised_with_any_case_and_extension() {
        for name in
            ["con", "Prn", "AUX", "nul.", "con.sys", "nul.tar.gz", "com1", "lpt9.inf", "COM¹", "lpt²", "com³.cat"]
        {
            assert!(device_of_name(name).is_some(), "{name}");
        }
        for name in ["con .txt", "conout$", "CONIN$", "nul:stream"] {
            assert!(device_of_name(name).is_some(), "{name}");
        }
        assert_eq!(device_of_name("Com4.log").as_deref(), Some("COM4"));
    }

    #[test]
    fn other_names_are_those_of_files() {
        for name in
            ["", ".con", "console", "con1", "com", "com0", "com10", "lpt", "nul_", "my-con.sys", "a.con", "auxiliary"]
        {
            assert_eq!(device_of_name(name), None, "{name}");
        }
    }
}
