//! Binary annotations: a small program that says which code of an inlined call comes from which line.
//!
//! Each instruction changes the current offset, file or line. Instructions that change the offset also begin a piece of code. The
//! instructions are those of Microsoft's `cvinfo.h` (`BinaryAnnotationOpcode`); their effect on the state was checked against
//! LLVM's reader and writer.

/// Code of an inlined call, relative to the function that it was inlined into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u32,
    /// The offset after its end, or `None` if it extends to the end of the function.
    pub(super) end: Option<u32>,
    /// Offset of its file in the list of files, or `None` for the file of the inlined function.
    pub(super) file: Option<u32>,
    /// Line, relative to the first line of the inlined function.
    pub(super) line: i32,
}

/// Runs the annotations of one call. They end at the first one that is damaged or unknown.
pub(super) fn pieces(annotations: &[u8]) -> Vec<Piece> {
    let mut state = State::default();
    let mut rest = Operands(annotations);
    while state.step(&mut rest).is_some() {}
    state.close(None);
    state.done
}

#[derive(Default)]
struct State {
    offset: u32,
    file: Option<u32>,
    line: i32,
    open: Option<Piece>,
    done: Vec<Piece>,
}

impl State {
    /// Runs one instruction. Returns `None` at the end.
    fn step(&mut self, rest: &mut Operands<'_>) -> Option<()> {
        match rest.unsigned()? {
            // CodeOffset
            1 => {
                self.offset = rest.unsigned()?;
                self.begin();
            }
            // ChangeCodeOffset
            3 => {
                self.offset = self.offset.checked_add(rest.unsigned()?)?;
                self.begin();
            }
            // ChangeCodeLength
            4 => {
                self.offset = self.offset.checked_add(rest.unsigned()?)?;
                self.close(Some(self.offset));
            }
            // ChangeFile
            5 => self.file = Some(rest.unsigned()?),
            // ChangeLineOffset
            6 => self.line = self.line.checked_add(rest.signed()?)?,
            // ChangeLineEndDelta, ChangeRangeKind, ChangeColumnStart, ChangeColumnEndDelta, ChangeColumnEnd
            7..=10 | 13 => drop(rest.unsigned()?),
            // ChangeCodeOffsetAndLineOffset
            11 => {
                let both = rest.unsigned()?;
                self.line = self.line.checked_add(signed(both >> 4))?;
                self.offset = self.offset.checked_add(both & 0xf)?;
                self.begin();
            }
            // ChangeCodeLengthAndCodeOffset
            12 => {
                let length = rest.unsigned()?;
                self.offset = self.offset.checked_add(rest.unsigned()?)?;
                self.begin();
                self.close(Some(self.offset.checked_add(length)?));
            }
            // The end, which is padded with zeros; or ChangeCodeOffsetBase, after which the code is in another section.
            _ => return None,
        }
        Some(())
    }

    /// Begins a piece at the current offset, which is also the end of the previous piece.
    fn begin(&mut self) {
        self.close(Some(self.offset));
        self.open = Some(Piece { start: self.offset, end: None, file: self.file, line: self.line });
    }

    fn close(&mut self, end: Option<u32>) {
        let open = self.open.take().map(|piece| Piece { end, ..piece });
        self.done.extend(open.filter(|piece| piece.end.is_none_or(|end| end > piece.start)));
    }
}

/// Compressed numbers of one, two or four bytes.
struct Operands<'a>(&'a [u8]);

impl Operands<'_> {
    fn unsigned(&mut self) -> Option<u32> {
        let (number, rest) = match *self.0 {
            [a, ref rest @ ..] if a & 0x80 == 0 => (u32::from(a), rest),
            [a, b, ref rest @ ..] if a & 0xc0 == 0x80 => (u32::from_be_bytes([0, 0, a & 0x3f, b]), rest),
            [a, b, c, d, ref rest @ ..] if a & 0xe0 == 0xc0 => (u32::from_be_bytes([a & 0x1f, b, c, d]), rest),
            _ => return None,
        };
        self.0 = rest;
        Some(number)
    }

    fn signed(&mut self) -> Option<i32> {
        self.unsigned().map(signed)
    }
}

/// Decodes a signed number, whose lowest bit is the sign.
fn signed(number: u32) -> i32 {
    let size = (number >> 1).cast_signed();
    if number & 1 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::{Operands, Piece, pieces};

    const fn piece(start: u32, end: u32, line: i32) -> Piece {
        Piece { start, end: Some(end), file: None, line }
    }

    #[test]
    fn a_piece_lasts_until_the_next_or_its_length() {
        // Line +2 at 4; line +1 at 9, 3 bytes long; two lines back, 5 bytes further on, 4 bytes long.
        let annotations = [6, 4, 3, 4, 11, 0x35, 4, 3, 6, 5, 12, 4, 5, 0, 0];
        assert_eq!(pieces(&annotations), [piece(4, 9, 2), piece(9, 12, 1), piece(17, 21, -1)]);
    }

    #[test]
    fn the_last_piece_may_have_no_end_and_files_change() {
        let pieces = pieces(&[1, 2, 5, 0x98, 0x00, 3, 6]);
        assert_eq!(pieces, [piece(2, 8, 0), Piece { start: 8, end: None, file: Some(0x1800), line: 0 }]);
    }

    #[test]
    fn numbers_have_three_sizes() {
        let mut numbers = Operands(&[0x7f, 0xbf, 0xff, 0xc0, 0, 0x80, 1, 0xe0]);
        let read: Vec<_> = std::iter::from_fn(|| numbers.unsigned()).collect();
        assert_eq!(read, [0x7f, 0x3fff, 0x8001]);
        assert_eq!(Operands(&[7]).signed(), Some(-3));
    }

    #[test]
    fn an_overflow_or_an_unknown_code_ends_the_annotations() {
        assert_eq!(pieces(&[1, 4, 4, 2, 2, 1, 3, 9]), [piece(4, 6, 0)], "another section");
        assert_eq!(pieces(&[1, 4, 4, 2, 0x20]), [piece(4, 6, 0)]);
        let end = [3, 0xdf, 0xff, 0xff, 0xff].repeat(16);
        assert!(pieces(&end).len() <= 8);
        assert_eq!(pieces(&[4, 1]), []);
    }
}
