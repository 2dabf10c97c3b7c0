//! SHA-1 that works in constants, to compute a provider's id from its name.
//!
//! This is an identifier scheme, not security: SHA-1 is what ETW's convention prescribes. No crate of the ecosystem
//! offers it as a `const fn` without `std`.

const BLOCK: usize = 64;

/// The state of a hash. Bytes are added one at a time, which keeps constant evaluation simple.
pub(super) struct Sha1 {
    state: [u32; 5],
    block: [u8; BLOCK],
    filled: usize,
    total: u64,
}

impl Sha1 {
    pub(super) const fn new() -> Self {
        Self {
            state: [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0],
            block: [0; BLOCK],
            filled: 0,
            total: 0,
        }
    }

    pub(super) const fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            self.push(*byte);
            self.total += 8;
            rest = tail;
        }
    }

    /// Returns the first 16 of the digest's 20 bytes. An id uses no more.
    pub(super) const fn finish(mut self) -> [u8; 16] {
        let total = self.total;
        self.push(0x80);
        while self.filled != BLOCK - 8 {
            self.push(0);
        }
        let mut shift = 64;
        while shift != 0 {
            shift -= 8;
            self.push((total >> shift & 0xFF) as u8);
        }
        let [a, b, c, d, _] = self.state;
        let words = (a as u128) << 96 | (b as u128) << 64 | (c as u128) << 32 | d as u128;
        words.to_be_bytes()
    }

    #[expect(clippy::indexing_slicing, reason = "`filled` is below 64: it goes back to 0 there")]
    const fn push(&mut self, byte: u8) {
        self.block[self.filled] = byte;
        self.filled += 1;
        if self.filled == BLOCK {
            self.filled = 0;
            self.compress();
        }
    }

    #[expect(clippy::indexing_slicing, reason = "constant bounds, below the arrays' lengths")]
    const fn compress(&mut self) {
        let mut schedule = [0_u32; 80];
        let mut t = 0;
        while t < 16 {
            let at = t * 4;
            schedule[t] =
                u32::from_be_bytes([self.block[at], self.block[at + 1], self.block[at + 2], self.block[at + 3]]);
            t += 1;
        }
        while t < 80 {
            schedule[t] = (schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16]).rotate_left(1);
            t += 1;
        }
        let [mut a, mut b, mut c, mut d, mut e] = self.state;
        t = 0;
        while t < 80 {
            let (mix, constant) = match t / 20 {
                0 => ((b & c) | (!b & d), 0x5A82_7999),
                1 => (b ^ c ^ d, 0x6ED9_EBA1),
                2 => ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC),
                _ => (b ^ c ^ d, 0xCA62_C1D6),
            };
            let next =
                a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant).wrapping_add(schedule[t]);
            e = d;
            d = c;
            c = b.rotate_left(30);
            b = a;
            a = next;
            t += 1;
        }
        let [h0, h1, h2, h3, h4] = self.state;
        self.state =
            [h0.wrapping_add(a), h1.wrapping_add(b), h2.wrapping_add(c), h3.wrapping_add(d), h4.wrapping_add(e)];
    }
}

#[cfg(test)]
mod tests {
    use super::Sha1;

    /// First 16 bytes of published digests (FIPS 180-4 examples and the empty message).
    #[test]
    fn agrees_with_published_digests() {
        let cases: [(&[u8], u128); 3] = [
            (b"", 0xda39_a3ee_5e6b_4b0d_3255_bfef_9560_1890),
            (b"abc", 0xa999_3e36_4706_816a_ba3e_2571_7850_c26c),
            (b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x8498_3e44_1c3b_d26e_baae_4aa1_f951_29e5),
        ];
        for (message, digest) in cases {
            let mut hash = Sha1::new();
            hash.update(message);
            assert_eq!(hash.finish(), digest.to_be_bytes());
        }
    }
}
