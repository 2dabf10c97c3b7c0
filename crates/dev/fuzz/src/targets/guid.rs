//! GUIDs. Guarantees: text that parses equals the GUID's text, except for case and braces. Each form of a GUID
//! converts back to the GUID. The position in an error is inside the text.

use etw_types::Guid;

/// Reads the bytes as text, as a name and as a GUID.
pub(super) fn run(bytes: &[u8]) {
    if let Some(chunk) = bytes.first_chunk() {
        forms(Guid::from_bytes_le(*chunk));
        assert_eq!(Guid::from_bytes_be(*chunk).to_bytes_be(), *chunk);
    }
    let text = String::from_utf8_lossy(bytes);
    match Guid::parse(&text) {
        Ok(guid) => {
            let bare = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(&text);
            assert!(guid.to_string().eq_ignore_ascii_case(bare), "{text:?} was read as {guid}");
            forms(guid);
        }
        Err(error) => assert!(error.position <= text.len(), "position {} of {text:?}", error.position),
    }
    // The GUID of a name does not depend on the name's case.
    assert_eq!(Guid::from_name(&text), Guid::from_name(&text.to_ascii_uppercase()));
}

fn forms(guid: Guid) {
    assert_eq!(Guid::parse(&guid.to_string()), Ok(guid));
    assert_eq!(Guid::parse(&format!("{{{guid}}}").to_uppercase()), Ok(guid));
    assert_eq!(Guid::from_bytes_le(guid.to_bytes_le()), guid);
    assert_eq!(Guid::from_bytes_be(guid.to_bytes_be()), guid);
    assert_eq!(Guid::from_u128(guid.to_u128()), guid);
    assert_eq!(Guid::from_fields(guid.data1, guid.data2, guid.data3, guid.data4), guid);
}
