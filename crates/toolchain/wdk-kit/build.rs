//! Embeds the files of `kit` into the library, so that the installed program needs no other files. Also
//! computes a fingerprint that changes with these files and with the code that makes the kit.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("not run by Cargo")?);
    let mut files = Vec::new();
    for dir in ["kit", "src"] {
        println!("cargo::rerun-if-changed={dir}");
        list(&root.join(dir), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    let mut text = String::from("const FILES: &[(&str, &str)] = &[\n");
    for file in files {
        let inside = file.strip_prefix(&root)?.to_string_lossy().into_owned();
        (&inside, fs::read(&file)?).hash(&mut hasher);
        if !inside.starts_with("src/") {
            let _ = writeln!(text, "({inside:?}, include_str!({:?})),", file.to_string_lossy());
        }
    }
    let _ = writeln!(text, "];\nconst FINGERPRINT: &str = \"{:016x}\";", hasher.finish());
    fs::write(PathBuf::from(env::var_os("OUT_DIR").ok_or("not run by Cargo")?).join("files.rs"), text)?;
    Ok(())
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
