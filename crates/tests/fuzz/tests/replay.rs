//! Every file of the corpus through every target: what one of them was found with is hostile to the others as well.

use std::panic::catch_unwind;

use etw_fuzz::{Seed, TARGETS};

#[test]
fn no_file_of_the_corpus_breaks_any_target() {
    for target in TARGETS {
        for seed in TARGETS.iter().flat_map(|other| other.corpus().unwrap()) {
            let result = catch_unwind(|| (target.run)(&seed.bytes));
            assert!(result.is_ok(), "{} breaks on {}", target.name, seed.path.display());
        }
    }
}

#[test]
fn every_target_has_seeds_that_fit() {
    for target in TARGETS {
        let seeds = target.corpus().unwrap();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        assert!(seeds.iter().all(|seed| seed.bytes.len() <= target.max_len), "{}", target.name);
    }
}

#[test]
fn the_corpus_stays_small() {
    let mut seeds: Vec<Seed> = TARGETS.iter().flat_map(|target| target.corpus().unwrap()).collect();
    seeds.sort_by(|a, b| a.path.cmp(&b.path));
    seeds.dedup();
    let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
    assert!(bytes <= 200 * 1024, "{bytes} bytes");
}

#[test]
fn every_target_has_its_libfuzzer_entry() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/libfuzzer");
    let manifest = std::fs::read_to_string(format!("{folder}/Cargo.toml")).unwrap();
    for target in TARGETS {
        let path = format!("fuzz_targets/{}.rs", target.name);
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{path} is no binary");
        let source = std::fs::read_to_string(format!("{folder}/{path}")).unwrap();
        assert!(source.contains(&format!("etw_fuzz::run(\"{}\", bytes)", target.name)), "{path}");
    }
}
