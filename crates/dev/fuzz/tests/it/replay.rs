//! Runs every target with every file of the corpus: an input that was found with one target is hostile to the others
//! as well.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use etw_fuzz::TARGETS;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}

/// Returns the files of all folders, and the traces of etw-etl's tests.
fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let own = files(&Path::new(HERE).join("corpus")).flat_map(|folder| files(&folder));
    let all = own.chain(files(&Path::new(HERE).join("../../traces/etw-etl/tests/corpus")));
    all.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn no_file_of_the_corpus_breaks_any_target() {
    let corpus = corpus();
    for (name, target) in TARGETS {
        for (path, bytes) in &corpus {
            assert!(catch_unwind(|| target(bytes)).is_ok(), "{name} breaks on {}", path.display());
        }
    }
}

#[test]
fn the_corpus_stays_small() {
    let bytes: usize = corpus().iter().map(|(_, bytes)| bytes.len()).sum();
    assert!((1..=200 * 1024).contains(&bytes), "{bytes} bytes");
}

#[test]
fn every_target_has_its_libfuzzer_entry() {
    let folder = Path::new(HERE).join("libfuzzer");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let path = format!("fuzz_targets/{name}.rs");
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{path} is not a binary of the package");
        let source = fs::read_to_string(folder.join(&path)).unwrap();
        assert!(source.contains(&format!("etw_fuzz::run(\"{name}\", bytes)")), "{path}");
    }
}
