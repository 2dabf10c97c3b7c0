//! No byte of a signed file can change without being noticed, except those that no digest covers.

use std::fs;
use std::ops::Range;
use std::path::Path;

use driver_package::inf::Arch;
use driver_package::package::Scripts;
use driver_package::verify::{self, Account, Context, Mark, Verdict};

use super::{Authority, package, trusting};
use crate::chains;
use crate::common::verifiers::Verdict as Theirs;
use crate::common::{CHECKSUM, inputs, tools};

/// Returns the places where a change of one byte leaves the file valid, with the same weaknesses.
fn survivors(path: &Path, good: &[u8], range: Range<usize>, context: &Context) -> Vec<(usize, u8)> {
    let verify = |bytes: &[u8]| verify::file(path, bytes, None, context);
    let expected = verify(good);
    assert!(expected.is_valid(), "{expected}");
    let weak = |account: &Account| account.checks.iter().filter(|check| check.mark == Mark::Weak).count();
    let mut bytes = good.to_vec();
    let mut left = Vec::new();
    for place in range {
        let mask = MASKS[place % MASKS.len()];
        bytes[place] ^= mask;
        let account = verify(&bytes);
        if account.is_valid() && weak(&account) == weak(&expected) {
            left.push((place, mask));
        }
        bytes[place] ^= mask;
    }
    left
}

/// Trusts the test certificate and no others, which saves time.
fn only_trusting() -> Context {
    Context { pinned: Vec::new(), ..trusting() }
}

/// A small change, the bits of a tag, everything.
const MASKS: [u8; 4] = [0x01, 0x20, 0x80, 0xff];

#[test]
fn every_byte_of_a_signed_image_counts() {
    let folder = package("changes-image");
    let path = folder.join("driver.sys");
    let good = fs::read(&path).unwrap();
    // Every byte of the file changes the checksum, so no digest covers it.
    let left = survivors(&path, &good, 0..good.len(), &only_trusting());
    assert_eq!(left.iter().filter(|(place, _)| !(CHECKSUM..CHECKSUM + 4).contains(place)).count(), 0, "{left:x?}");
}

#[test]
fn every_byte_of_a_catalog_and_of_the_files_it_lists_counts() {
    let folder = package("changes-catalog");
    let path = folder.join("driver.cat");
    let good = fs::read(&path).unwrap();
    assert_eq!(survivors(&path, &good, 0..good.len(), &only_trusting()), []);

    let inf = folder.join("driver.inf");
    let mut bytes = fs::read(&inf).unwrap();
    let context = only_trusting();
    let is_valid =
        |bytes: &[u8], catalog: &[u8]| verify::file(&inf, bytes, Some((&path, catalog)), &context).is_valid();
    assert!(is_valid(&bytes, &good));
    for place in 0..bytes.len() {
        bytes[place] ^= 0x20;
        assert!(!is_valid(&bytes, &good), "{place:#x}");
        bytes[place] ^= 0x20;
    }
    let mut catalog = good;
    for place in (0..catalog.len()).step_by(7) {
        catalog[place] ^= 1;
        assert!(!is_valid(&bytes, &catalog), "{place:#x}");
        catalog[place] ^= 1;
    }
}

/// In a package, no file may change that the INF installs or that is signed. The other files (scripts, texts, the certificate) are
/// signed by nobody, so `verify` never calls them valid.
#[test]
fn a_change_in_any_file_of_a_package_makes_it_not_valid_or_is_in_a_file_that_is_never_called_valid() {
    let place = tools::folder("changes-package-in");
    let folder = tools::folder("changes-package");
    let inx = inputs::INX.replace("driver.sys = 1\n", "driver.sys = 1\nfirmware.bin = 1\n");
    fs::write(place.join("firmware.bin"), [0x5A; 200]).unwrap();
    let mut request = inputs::request(&place, &inputs::image(Arch::X64).build(), inx.as_bytes());
    request.scripts = Scripts::BuiltIn;
    request.make(&inputs::signer()).unwrap().write(&folder).unwrap();
    let context = only_trusting();
    let verify = || verify::dir(&folder, &context);
    let judged = |name: &str| verify().unwrap().iter().any(|account| account.path.ends_with(name));
    let mut unjudged = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !judged(&name) {
            unjudged.push(name);
            continue;
        }
        let good = fs::read(&path).unwrap();
        // The tests around this one change every byte of such files; this one goes through the folder.
        for at in
            (0..good.len()).step_by(97).filter(|at| name != "driver.sys" || !(CHECKSUM..CHECKSUM + 4).contains(at))
        {
            let mut bytes = good.clone();
            bytes[at] ^= MASKS[at % MASKS.len()];
            fs::write(&path, bytes).unwrap();
            let is_valid = verify().is_ok_and(|accounts| accounts.iter().all(Account::is_valid));
            assert!(!is_valid, "{name}, byte {at:#x}");
        }
        fs::write(&path, good).unwrap();
        assert!(verify().unwrap().iter().all(Account::is_valid), "{name}");
    }
    assert!(!unjudged.is_empty(), "{unjudged:?}");
    assert!(
        unjudged.iter().all(|name| !["sys", "inf", "cat", "bin"].iter().any(|end| name.ends_with(end))),
        "{unjudged:?}"
    );
}

#[test]
fn every_byte_of_a_chain_counts_although_only_its_root_is_trusted() {
    let place = tools::folder("changes-chain");
    let identity = chains::publisher(&place, &[chains::CODE_SIGNING, chains::WHQL], true, true);
    let folder = place.join("out");
    inputs::usual(&place, Arch::X64).make(&identity).unwrap().write(&folder).unwrap();
    let path = folder.join("driver.cat");
    let good = fs::read(&path).unwrap();
    for pinned in [Vec::new(), chains::pin(&chains::key("short.pem"), verify::Purpose::Kernel)] {
        let context = Context { pinned, ..Context::new(inputs::TIME) };
        assert_eq!(survivors(&path, &good, 0..good.len(), &context), []);
    }
}

#[test]
fn a_change_that_stays_valid_in_a_timestamped_file_is_one_that_other_verifiers_accept() {
    let Some(authority) = Authority::new("changes-others") else { return };
    let path = authority.sign("stamped.sys", "code", &["-TSA-certs", "tsa.pem", "-TSA-key", "tsa.key"]);
    let good = fs::read(&path).unwrap();
    let context = Context { pinned: Vec::new(), ..authority.context() };
    let table = usize::try_from(crate::common::get_u32(&good, crate::common::directory(4))).unwrap();
    // The checksum, which no digest covers, and the signature. Every other byte counts, as the test above shows.
    let left =
        [CHECKSUM..CHECKSUM + 4, table..good.len()].map(|range| survivors(&path, &good, range, &context)).concat();
    assert!(left.len() >= 4, "{left:x?}");
    for (place, mask) in &left {
        let mut bytes = good.clone();
        bytes[*place] ^= mask;
        let changed = authority.path("changed.sys");
        fs::write(&changed, bytes).unwrap();
        let (_, theirs, others) = authority.all(&changed);
        assert_eq!(theirs, Theirs::Accepted, "{place:#x} ^ {mask:#x}");
        assert!(others.is_none_or(|others| others == Theirs::Accepted), "{place:#x} ^ {mask:#x}");
    }
}

#[test]
fn a_signature_with_another_tag_or_with_bytes_after_it_is_not_valid() {
    let folder = package("changes-malformed");
    let path = folder.join("driver.cat");
    let good = fs::read(&path).unwrap();
    let verdict = |bytes: &[u8]| verify::file(&path, bytes, None, &trusting()).verdict();
    let mut tagged = good.clone();
    tagged[0] = 0x31;
    for bytes in [tagged, [&good[..], &[0]].concat(), [&good[..], &good].concat()] {
        assert_eq!(verdict(&bytes), Verdict::NotValid);
    }

    // In an image, zeros fill the entry of the table; no digest covers them, so nothing else may be there.
    let path = folder.join("driver.sys");
    let image = fs::read(&path).unwrap();
    let verdict = |bytes: &[u8]| verify::file(&path, bytes, None, &trusting()).verdict();
    let with_padding = |padding: &[u8]| {
        let mut bytes = [&image[..], padding].concat();
        for place in [crate::common::directory(4) + 4, image.len() - entry_size(&image)] {
            crate::common::change_u32(&mut bytes, place, |size| size + u32::try_from(padding.len()).unwrap());
        }
        bytes
    };
    assert_eq!(verdict(&with_padding(&[0; 8])), Verdict::Valid);
    assert_eq!(verdict(&with_padding(&[0, 0, 0, 0, 0, 0, 0, 1])), Verdict::NotValid);
    assert_eq!(verdict(&with_padding(b"PK\x03\x04 installer")), Verdict::NotValid);
}

/// Returns the size of the only entry of an image's table.
fn entry_size(image: &[u8]) -> usize {
    usize::try_from(crate::common::get_u32(image, crate::common::directory(4) + 4)).unwrap()
}
