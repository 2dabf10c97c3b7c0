//! Provider traits. Guarantees: a blob that validates consists of exactly its name and its records. A blob from the
//! builder validates and has the values that were given to the builder.

use etw_types::traits::{TraitType, TraitsBuilder, validate};

/// Validates the traits and encodes them again.
pub(super) fn run(bytes: &[u8]) {
    let traits = match validate(bytes) {
        Ok(traits) => traits,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut blob = [&bytes[..2], traits.name(), &[0]].concat();
    for record in traits.records() {
        let size = u16::try_from(record.data.len() + 3).expect("a record is longer than its size can say");
        blob.extend(size.to_le_bytes());
        blob.push(record.kind.as_int());
        blob.extend(record.data);
    }
    assert!(blob == bytes, "name and records are not the whole blob");

    let Ok(name) = str::from_utf8(traits.name()) else { return };
    let kind = |kind: TraitType| kind.as_int() >= TraitType::FirstCustom.as_int();
    let custom: Vec<(u8, &[u8])> =
        traits.records().filter(|record| kind(record.kind)).map(|record| (record.kind.as_int(), record.data)).collect();
    let mut builder = TraitsBuilder::new(name).with_custom(&custom);
    if let Some(group) = traits.group() {
        builder = builder.with_group(group);
    }
    if let Some(decode_guid) = traits.decode_guid() {
        builder = builder.with_decode_guid(decode_guid);
    }
    let mut made = vec![0; builder.encoded_len().expect("parts of a blob make a blob")];
    builder.encode_into(&mut made).expect("its own length fits");
    let again = validate(&made).expect("the builder's blob is well formed");
    assert_eq!(again.name(), traits.name());
    assert_eq!(again.group(), traits.group());
    assert_eq!(again.decode_guid(), traits.decode_guid());
    let own = again.records().filter(|record| kind(record.kind)).map(|record| (record.kind.as_int(), record.data));
    assert!(own.eq(custom.iter().copied()), "the builder's records differ");
}
