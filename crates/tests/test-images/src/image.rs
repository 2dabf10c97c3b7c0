//! What a PE image says about itself.

use std::collections::BTreeSet;

use object::LittleEndian as LE;
use object::pe;
use object::read::pe::{Import, PeFile64};

/// The facts that tests ask for.
#[derive(Clone, Debug)]
pub struct Image {
    /// `IMAGE_SUBSYSTEM_…`
    pub subsystem: u16,
    /// `IMAGE_DLLCHARACTERISTICS_…`
    pub dll_characteristics: u16,
    /// Everything that is bound when the image is loaded, as `module!routine`.
    pub imports: BTreeSet<String>,
    /// Names of sections that are both writable and executable.
    pub writable_code: Vec<String>,
    bytes: Vec<u8>,
}

impl Image {
    /// Reads an x64 PE32+ image.
    ///
    /// # Errors
    ///
    /// When the bytes are anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = PeFile64::parse(bytes).map_err(|error| error.to_string())?;
        let headers = file.nt_headers();
        let machine = headers.file_header.machine.get(LE);
        if machine != pe::IMAGE_FILE_MACHINE_AMD64 {
            return Err(format!("machine {machine:#06x} is not x64"));
        }
        Ok(Self {
            subsystem: headers.optional_header.subsystem.get(LE),
            dll_characteristics: headers.optional_header.dll_characteristics.get(LE),
            imports: imports(&file).map_err(|error| format!("import table: {error}"))?,
            writable_code: writable_code(&file),
            bytes: bytes.to_vec(),
        })
    }

    /// Every sign that some path of the image ends in a panic: the import of the panic handler `handler`, and the
    /// source files in `folders` that a panic would name.
    #[must_use]
    pub fn panic_paths(&self, handler: &str, folders: &[&str]) -> Vec<String> {
        let mut signs = Vec::new();
        if self.imports.contains(handler) {
            signs.push(format!("imports {handler}"));
        }
        for folder in folders {
            // The separator is that of the machine which compiled the image.
            if self.contains(folder) || self.contains(&folder.replace('/', "\\")) {
                signs.push(format!("names a source file in {folder}"));
            }
        }
        signs
    }

    fn contains(&self, text: &str) -> bool {
        let mut windows = self.bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    }
}

fn imports(file: &PeFile64<'_>) -> object::read::Result<BTreeSet<String>> {
    let mut imports = BTreeSet::new();
    let Some(table) = file.import_table()? else {
        return Ok(imports);
    };
    let mut descriptors = table.descriptors()?;
    while let Some(descriptor) = descriptors.next()? {
        let module = String::from_utf8_lossy(table.name(descriptor.name.get(LE))?);
        let mut thunks = table.thunks(descriptor.original_first_thunk.get(LE))?;
        while let Some(thunk) = thunks.next::<pe::ImageNtHeaders64>()? {
            let routine = match table.import::<pe::ImageNtHeaders64>(thunk)? {
                Import::Ordinal(ordinal) => format!("#{ordinal}"),
                Import::Name(_, name) => String::from_utf8_lossy(name).into_owned(),
            };
            imports.insert(format!("{module}!{routine}"));
        }
    }
    Ok(imports)
}

fn writable_code(file: &PeFile64<'_>) -> Vec<String> {
    let both = pe::IMAGE_SCN_MEM_WRITE | pe::IMAGE_SCN_MEM_EXECUTE;
    file.section_table()
        .iter()
        .filter(|section| section.characteristics.get(LE) & both == both)
        .map(|section| String::from_utf8_lossy(section.raw_name()).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Image;

    #[test]
    fn bytes_that_are_no_image_are_refused() {
        assert!(Image::parse(b"").is_err());
        assert!(Image::parse(b"MZ").is_err());
        assert!(Image::parse(&[0; 4096]).is_err());
    }
}
