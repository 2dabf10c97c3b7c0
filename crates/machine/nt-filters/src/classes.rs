//! The classes of file information that clients can query and set, and the shortest buffers for them: the I/O manager refuses
//! others before a driver sees them.

use etw_types::NtStatus;
use windows_constants::file::{
    FileAccessInformation, FileAlignmentInformation, FileAllInformation, FileAllocationInformation,
    FileAlternateNameInformation, FileAttributeTagInformation, FileBasicInformation, FileDispositionInformation,
    FileDispositionInformationEx, FileEaInformation, FileEndOfFileInformation, FileInternalInformation,
    FileLinkInformation, FileModeInformation, FileNameInformation, FileNetworkOpenInformation,
    FileNormalizedNameInformation, FilePositionInformation, FileRenameInformation, FileRenameInformationEx,
    FileStandardInformation, FileStreamInformation,
};

/// The classes with a name: its length is at [`LENGTH`], and the name after it.
const NAMED: [u32; 3] = [FileRenameInformation, FileLinkInformation, FileRenameInformationEx];
const LENGTH: usize = 16;

/// The classes, with the sizes of their structures to query and to set.
const CLASSES: [(u32, Option<usize>, Option<usize>); 22] = [
    (FileBasicInformation, Some(40), Some(40)),
    (FileStandardInformation, Some(24), None),
    (FileInternalInformation, Some(8), None),
    (FileEaInformation, Some(4), None),
    (FileAccessInformation, Some(4), None),
    (FileNameInformation, Some(8), None),
    (FileRenameInformation, None, Some(24)),
    (FileLinkInformation, None, Some(24)),
    (FileDispositionInformation, None, Some(1)),
    (FilePositionInformation, Some(8), Some(8)),
    (FileModeInformation, Some(4), Some(4)),
    (FileAlignmentInformation, Some(4), None),
    (FileAllInformation, Some(104), None),
    (FileAllocationInformation, None, Some(8)),
    (FileEndOfFileInformation, None, Some(8)),
    (FileAlternateNameInformation, Some(8), None),
    (FileStreamInformation, Some(32), None),
    (FileNetworkOpenInformation, Some(56), None),
    (FileAttributeTagInformation, Some(8), None),
    (FileNormalizedNameInformation, Some(8), None),
    (FileDispositionInformationEx, None, Some(4)),
    (FileRenameInformationEx, None, Some(24)),
];

fn check(size: Option<usize>, length: usize) -> Result<(), NtStatus> {
    match size {
        None => Err(NtStatus::InvalidInfoClass),
        Some(size) if length < size => Err(NtStatus::InfoLengthMismatch),
        Some(_) => Ok(()),
    }
}

/// Checks a query of a client.
pub(super) fn check_query(class: u32, length: u32) -> Result<(), NtStatus> {
    let known = CLASSES.iter().find(|(known, ..)| *known == class);
    check(known.and_then(|(_, query, _)| *query), length as usize)
}

/// Checks information that a client sets.
pub(super) fn check_set(class: u32, information: &[u8]) -> Result<(), NtStatus> {
    let known = CLASSES.iter().find(|(known, ..)| *known == class);
    check(known.and_then(|(.., set)| *set), information.len())?;
    let length = information.get(LENGTH..).and_then(|rest| rest.split_first_chunk());
    let fits = length.is_some_and(|(length, name)| u32::from_le_bytes(*length) as usize <= name.len());
    if NAMED.contains(&class) && !fits { Err(NtStatus::InvalidParameter) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{check_query, check_set};
    use etw_types::NtStatus;

    #[test]
    fn short_buffers_and_other_classes_are_refused() {
        assert_eq!(check_query(5, 24), Ok(()));
        assert_eq!(check_query(5, 23), Err(NtStatus::InfoLengthMismatch));
        assert_eq!(check_query(13, 24), Err(NtStatus::InvalidInfoClass));
        assert_eq!(check_query(1000, 24), Err(NtStatus::InvalidInfoClass));
        assert_eq!(check_set(13, &[1]), Ok(()));
        assert_eq!(check_set(5, &[0; 24]), Err(NtStatus::InvalidInfoClass));
        let mut rename = vec![0; 24];
        rename[16] = 4;
        assert_eq!(check_set(10, &rename), Ok(()));
        rename[16] = 6;
        assert_eq!(check_set(10, &rename), Err(NtStatus::InvalidParameter));
        assert_eq!(check_set(10, &rename[..20]), Err(NtStatus::InfoLengthMismatch));
    }
}
