//! Queries with a buffer that grows as needed.
//!
//! A query reports a buffer that is too small with one of three codes, and returns the required size. The result can
//! grow between two calls, so the second call may fail like the first. After a few rounds the error is returned.

use etw_types::Win32Error;

use crate::system::Refusal;

/// The codes with which systems report a buffer that is too small. They differ between functions.
const TOO_SMALL: [Win32Error; 3] = [Win32Error::BadLength, Win32Error::InsufficientBuffer, Win32Error::MoreData];
/// The maximum number of calls.
const ROUNDS: usize = 8;
/// The largest result that is accepted.
const MAX_RESULT: usize = 64 * 1024 * 1024;

/// Calls `ask` with a copy of `start`, then with larger copies while it reports that the buffer is too small.
pub(crate) fn grow(
    start: &[u8],
    mut query: impl FnMut(&mut [u8]) -> Result<usize, Refusal>,
) -> Result<Vec<u8>, Win32Error> {
    let mut size = start.len();
    for _ in 0..ROUNDS {
        // The system reads its input from the buffer, so the input must be there in every round.
        let mut buffer = start.to_vec();
        buffer.resize(size, 0);
        let needed = match query(&mut buffer) {
            Ok(length) if length <= buffer.len() => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            // Some calls succeed and only report that there is more.
            Ok(length) => length,
            Err(Refusal { code, needed }) if TOO_SMALL.contains(&code) && needed > size => needed,
            Err(Refusal { code, .. }) => return Err(code),
        };
        if needed > MAX_RESULT {
            return Err(Win32Error::NotEnoughMemory);
        }
        size = needed;
    }
    Err(Win32Error::InsufficientBuffer)
}

#[cfg(test)]
mod tests {
    use etw_types::Win32Error;

    use super::grow;
    use crate::system::Refusal;

    fn short(code: Win32Error, needed: usize) -> Result<usize, Refusal> {
        Err(Refusal { code, needed })
    }

    #[test]
    fn every_code_for_a_small_buffer_makes_it_grow_and_keeps_the_input() {
        for code in [Win32Error::BadLength, Win32Error::InsufficientBuffer, Win32Error::MoreData] {
            let result = grow(&[7], |buffer| {
                assert_eq!(buffer[0], 7, "the input is there in every round");
                if buffer.len() < 3 { short(code, 3) } else { Ok(2) }
            });
            assert_eq!(result, Ok(vec![7, 0]));
        }
    }

    #[test]
    fn an_error_that_does_not_need_a_larger_buffer_is_returned() {
        assert_eq!(grow(&[0; 4], |_| short(Win32Error::BadLength, 4)), Err(Win32Error::BadLength));
        assert_eq!(grow(&[], |_| short(Win32Error::BadLength, 0)), Err(Win32Error::BadLength));
        assert_eq!(grow(&[], |_| short(Win32Error::NotSupported, 9)), Err(Win32Error::NotSupported));
    }

    #[test]
    fn a_success_that_needs_a_larger_buffer_is_repeated() {
        let result = grow(&[], |buffer| Ok(if buffer.is_empty() { 5 } else { buffer.len() }));
        assert_eq!(result, Ok(vec![0; 5]));
    }

    #[test]
    fn a_result_that_keeps_growing_is_an_error() {
        let mut calls = 0;
        let result = grow(&[], |buffer| {
            calls += 1;
            short(Win32Error::InsufficientBuffer, buffer.len() + 1)
        });
        assert_eq!(result, Err(Win32Error::InsufficientBuffer));
        assert_eq!(calls, 8);
        let greedy = grow(&[], |_| short(Win32Error::InsufficientBuffer, usize::MAX));
        assert_eq!(greedy, Err(Win32Error::NotEnoughMemory));
    }
}
