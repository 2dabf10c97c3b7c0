//! Compares catalogs byte by byte, and checks the order that Windows requires.
//!
//! This crate created the golden files from the inputs below, and other programs accept them (`verifiers.rs`).
//! `UPDATE_GOLDEN=1` writes them again.

use std::fs;

use crate::common::inputs::{INX, TIME, data, image, signer};
use driver_package::catalog::{Catalog, Member, Version, systems};
use driver_package::inf::Arch;

fn catalog(version: Version) -> Catalog {
    Catalog {
        version,
        systems: systems(Arch::X64).to_owned(),
        hardware_ids: vec!["root\\example".into(), "root\\other".into()],
        members: vec![Member::new("driver.inf", INX.as_bytes()), Member::new("driver.sys", &image(Arch::X64).build())],
        time: TIME,
    }
}

#[test]
fn fixed_inputs_give_the_golden_catalogs() {
    for (version, name) in [(Version::V1, "golden-v1.cat"), (Version::V2, "golden-v2.cat")] {
        let made = catalog(version).sign(&signer()).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(data(name), &made).unwrap();
        }
        assert!(fs::read(data(name)).unwrap() == made, "{name} differs");
    }
}

/// The start of the list of version 2, written by hand: usage, identifier, time, algorithm.
#[test]
fn the_list_begins_as_inf2cat_writes_it() {
    let list = catalog(Version::V2).to_list().unwrap();
    let usage = [0x30, 12, 6, 10, 0x2b, 6, 1, 4, 1, 0x82, 0x37, 12, 1, 1];
    let algorithm = [0x30, 14, 6, 10, 0x2b, 6, 1, 4, 1, 0x82, 0x37, 12, 1, 3, 5, 0];
    let body = &list[4..];
    assert_eq!(body[..14], usage);
    assert_eq!(body[14..16], [4, 16]);
    assert_eq!(body[32..47], *b"\x17\x0d231114221320Z");
    assert_eq!(body[47..63], algorithm);
}

#[test]
fn the_order_of_members_does_not_matter_and_the_same_file_twice_is_refused() {
    for version in [Version::V1, Version::V2] {
        let first = catalog(version);
        let mut second = first.clone();
        second.members.reverse();
        assert_eq!(first.to_list().unwrap(), second.to_list().unwrap());
        second.members.push(second.members[0].clone());
        assert!(second.to_list().is_err());
    }
}

/// Returns tag, header length and content length of the first value.
fn header(der: &[u8]) -> (u8, usize, usize) {
    match der[1] {
        short @ 0..=0x7f => (der[0], 2, short.into()),
        long => {
            let count = usize::from(long & 0x7f);
            (der[0], 2 + count, der[2..2 + count].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
        }
    }
}

/// Returns the values in a constructed value.
fn children(mut content: &[u8]) -> Vec<&[u8]> {
    let mut values = Vec::new();
    while !content.is_empty() {
        let (_, head, length) = header(content);
        let (value, rest) = content.split_at(head + length);
        values.push(value);
        content = rest;
    }
    values
}

/// Counts the sets, and checks that the elements of each are sorted by their encoding.
fn check_sets(der: &[u8]) -> usize {
    let (tag, head, _) = header(der);
    if tag & 0x20 == 0 {
        return 0;
    }
    let inside = children(&der[head..]);
    if tag == 0x31 {
        assert!(inside.is_sorted(), "a set is not in order");
    }
    usize::from(tag == 0x31) + inside.into_iter().map(check_sets).sum::<usize>()
}

#[test]
fn every_set_is_in_order() {
    for version in [Version::V1, Version::V2] {
        let sets = check_sets(&catalog(version).sign(&signer()).unwrap());
        assert!(sets > 10, "{sets}");
    }
}

#[test]
fn members_are_in_the_order_of_their_tags() {
    let list = catalog(Version::V2).to_list().unwrap();
    let parts = children(&list[4..]);
    let members = children(&parts[4][header(parts[4]).1..]);
    assert_eq!(members.len(), 4, "two for each file");
    let tags: Vec<&[u8]> = members
        .iter()
        .map(|member| {
            let tag = children(&member[header(member).1..])[0];
            &tag[2..]
        })
        .collect();
    assert!(tags.is_sorted());
    assert_eq!(tags.iter().filter(|tag| tag.len() == 32).count(), 2);
}
