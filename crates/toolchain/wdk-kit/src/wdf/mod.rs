//! Generates `wdf.h` from the files in `kit/wdf`, which describe the framework's types and functions.
//!
//! README.md explains the notation. The files are grouped by topic and need not be in the order of C. Only declarations of the
//! same kind keep their order.

mod functions;
mod header;
mod notation;
mod reader;
#[cfg(test)]
mod tests;
mod versions;

use functions::Function;
use notation::Declaration;
pub use versions::MINORS;
use versions::Versions;

/// The file with the function table, and the file with the differences between versions. All other files declare types.
pub(crate) const FUNCTIONS: &str = "functions.txt";
const VERSIONS: &str = "versions.txt";
/// The file for drivers of USB devices. It has a separate header, because that header needs `usb.h`.
const USB: &str = "usb.txt";

/// The framework as the files describe it.
pub(crate) struct Framework {
    declarations: Vec<(bool, Declaration)>,
    functions: Vec<Function>,
    versions: Versions,
}

/// The headers of one version.
pub(crate) struct Headers {
    pub(crate) wdf: String,
    pub(crate) wdfusb: String,
}

impl Framework {
    /// Reads all files, each with its name.
    pub(crate) fn read(files: &[(&str, &str)]) -> Result<Self, String> {
        let text = |wanted: &str| files.iter().find(|(name, _)| *name == wanted).map_or("", |(_, text)| text);
        let mut declarations = Vec::new();
        for (name, text) in files.iter().filter(|(name, _)| *name != FUNCTIONS && *name != VERSIONS) {
            declarations.extend(notation::parse(name, text)?.into_iter().map(|one| (*name == USB, one)));
        }
        let functions = functions::parse(FUNCTIONS, text(FUNCTIONS))?;
        Ok(Self { declarations, functions, versions: Versions::parse(VERSIONS, text(VERSIONS))? })
    }

    /// Returns the headers of KMDF 1 with this minor version.
    pub(crate) fn headers(&self, minor: u8) -> Result<Headers, String> {
        let count = self.versions.functions(minor).unwrap_or(self.functions.len());
        let functions = self.functions.get(..count).ok_or("versions.txt counts more functions than functions.txt")?;
        let mut plain = Vec::new();
        let mut usb = Vec::new();
        for (is_usb, declaration) in &self.declarations {
            if let Some(known) = self.versions.filter(declaration, minor) {
                if *is_usb { usb.push(known) } else { plain.push(known) }
            }
        }
        let is_usb = |function: &Function| function.name.starts_with("WdfUsb");
        let named: Vec<Function> =
            functions.iter().map(|one| if is_usb(one) { one.without_signature() } else { one.clone() }).collect();
        let usb_functions: Vec<Function> = functions.iter().filter(|one| is_usb(one)).cloned().collect();
        Ok(Headers { wdf: header::render(&plain, &named)?, wdfusb: header::render_part(&usb, &usb_functions, &plain)? })
    }
}

/// Returns the header for files that declare types, each with its name and text, and for the text of the function table.
#[cfg(test)]
pub(crate) fn render(types: &[(&str, &str)], table: &str) -> Result<String, String> {
    let mut declarations = Vec::new();
    for (name, text) in types {
        declarations.extend(notation::parse(name, text)?);
    }
    header::render(&declarations, &functions::parse(FUNCTIONS, table)?)
}
