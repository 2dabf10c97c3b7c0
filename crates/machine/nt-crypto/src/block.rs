//! AES with the chaining modes ECB, CBC and GCM, and the padding of PKCS #7.

use aes::cipher::consts::U16;
use aes::cipher::{BlockDecrypt, BlockEncrypt, BlockSizeUser, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

/// The number of bytes of a block.
pub(super) const BLOCK: usize = 16;
/// The number of bytes of a nonce.
pub(super) const NONCE: usize = 12;

pub(super) type Block = [u8; BLOCK];

/// A cipher with its key.
pub(super) trait BlockCipher {
    fn encrypt(&self, block: &mut Block);

    fn decrypt(&self, block: &mut Block);
}

impl<C: BlockEncrypt + BlockDecrypt + BlockSizeUser<BlockSize = U16>> BlockCipher for C {
    fn encrypt(&self, block: &mut Block) {
        self.encrypt_block(block.into());
    }

    fn decrypt(&self, block: &mut Block) {
        self.decrypt_block(block.into());
    }
}

/// Returns AES with a key of 16, 24 or 32 bytes, and `None` for keys of other lengths.
pub(super) fn aes(key: &[u8]) -> Option<Box<dyn BlockCipher>> {
    match key.len() {
        16 => Some(Box::new(Aes128::new_from_slice(key).ok()?)),
        24 => Some(Box::new(Aes192::new_from_slice(key).ok()?)),
        32 => Some(Box::new(Aes256::new_from_slice(key).ok()?)),
        _ => None,
    }
}

fn xor(target: &mut [u8], with: &[u8]) {
    for (byte, with) in target.iter_mut().zip(with) {
        *byte ^= with;
    }
}

/// Encrypts whole blocks: with ECB if there is no vector, otherwise with CBC. The vector becomes that of the next blocks.
pub(super) fn encrypt(cipher: &dyn BlockCipher, mut vector: Option<&mut Block>, data: &mut [u8]) {
    for block in data.as_chunks_mut().0 {
        if let Some(vector) = &vector {
            xor(block, &vector[..]);
        }
        cipher.encrypt(block);
        if let Some(vector) = &mut vector {
            **vector = *block;
        }
    }
}

/// Decrypts whole blocks: with ECB if there is no vector, otherwise with CBC. The vector becomes that of the next blocks.
pub(super) fn decrypt(cipher: &dyn BlockCipher, mut vector: Option<&mut Block>, data: &mut [u8]) {
    for block in data.as_chunks_mut().0 {
        let next = *block;
        cipher.decrypt(block);
        if let Some(vector) = &mut vector {
            xor(block, &vector[..]);
            **vector = next;
        }
    }
}

/// Fills the last block, or adds one.
pub(super) fn pad(data: &mut Vec<u8>) {
    let count = BLOCK - data.len() % BLOCK;
    data.resize(data.len() + count, count as u8);
}

/// Removes what [`pad`] has added. Returns `false` if it is not there.
pub(super) fn remove_padding(data: &mut Vec<u8>) -> bool {
    let count = data.last().copied().unwrap_or_default();
    let left = data.len().checked_sub(count.into());
    let is_padded = (1..=BLOCK as u8).contains(&count)
        && left.and_then(|left| data.get(left..)).is_some_and(|added| added.iter().all(|byte| *byte == count));
    if let Some(left) = left.filter(|_| is_padded) {
        data.truncate(left);
    }
    is_padded
}

/// Encrypts or decrypts with GCM, and returns the authentication tag.
pub(super) fn gcm(
    cipher: &dyn BlockCipher,
    nonce: &[u8; NONCE],
    also: &[u8],
    data: &mut [u8],
    encrypts: bool,
) -> Block {
    let stream = |number: u32| {
        let mut block = Block::default();
        let (start, end) = block.split_at_mut(NONCE);
        start.copy_from_slice(nonce);
        end.copy_from_slice(&number.to_be_bytes());
        cipher.encrypt(&mut block);
        block
    };
    let mut key = Block::default();
    cipher.encrypt(&mut key);
    let mut hash = <GHash as KeyInit>::new(&key.into());
    hash.update_padded(also);
    if !encrypts {
        hash.update_padded(data);
    }
    // The first number is for the tag.
    for (number, part) in (2..).zip(data.chunks_mut(BLOCK)) {
        xor(part, &stream(number));
    }
    if encrypts {
        hash.update_padded(data);
    }
    let bits = |bytes: &[u8]| (bytes.len() as u64 * 8).to_be_bytes();
    let mut lengths = Block::default();
    let (start, end) = lengths.split_at_mut(BLOCK / 2);
    start.copy_from_slice(&bits(also));
    end.copy_from_slice(&bits(data));
    hash.update(&[lengths.into()]);
    let mut tag: Block = hash.finalize().into();
    xor(&mut tag, &stream(1));
    tag
}

#[cfg(test)]
mod tests {
    use super::{Block, aes, decrypt, encrypt, gcm, pad, remove_padding};

    fn bytes(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
        (0..text.len()).step_by(2).map(digit).collect()
    }

    const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";

    /// The examples of NIST SP 800-38A, F.1 and F.2: keys and the first two blocks.
    #[test]
    fn examples_of_nist_for_ecb_and_cbc() {
        let vector: Block = bytes("000102030405060708090a0b0c0d0e0f").try_into().expect("a block");
        for (key, ecb, cbc) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf",
                "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            ),
            (
                "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
                "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef",
                "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a",
            ),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870",
                "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
            ),
        ] {
            let cipher = aes(&bytes(key)).expect("a key");
            for (with, expected) in [(None, ecb), (Some(vector), cbc)] {
                let mut data = bytes(PLAIN);
                let mut first = with;
                let mut next = with;
                encrypt(&*cipher, first.as_mut(), &mut data);
                assert_eq!(data, bytes(expected));
                decrypt(&*cipher, next.as_mut(), &mut data);
                assert_eq!(data, bytes(PLAIN));
                assert_eq!(next.map(Vec::from), with.map(|_| bytes(&expected[32..])), "the vector of the next blocks");
            }
        }
        assert!(aes(&[0; 20]).is_none());
    }

    /// The test cases 4, 10 and 16 of "The Galois/Counter Mode of Operation" by its authors.
    #[test]
    fn test_cases_of_the_authors_of_gcm() {
        let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
        let nonce: [u8; 12] = bytes("cafebabefacedbaddecaf888").try_into().expect("a nonce");
        let also = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        let plain = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        );
        for (length, encrypted, expected) in [
            (
                16,
                "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
                "5bc94fbc3221a5db94fae95ae7121a47",
            ),
            (
                24,
                "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
                "2519498e80f1478f37ba55bd6d27618c",
            ),
            (
                32,
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
                "76fc6ece0f4e1768cddf8853bb2d551b",
            ),
        ] {
            let cipher = aes(&bytes(key)[..length]).expect("a key");
            let mut data = plain.clone();
            assert_eq!(gcm(&*cipher, &nonce, &also, &mut data, true).to_vec(), bytes(expected));
            assert_eq!(data, bytes(encrypted));
            assert_eq!(gcm(&*cipher, &nonce, &also, &mut data, false).to_vec(), bytes(expected));
            assert_eq!(data, plain);
        }
    }

    #[test]
    fn padding_is_added_always_and_removed_only_if_it_is_there() {
        for length in 0..40 {
            let mut data = vec![7; length];
            pad(&mut data);
            assert!(data.len() > length);
            assert!(data.len() % 16 == 0);
            assert!(remove_padding(&mut data));
            assert!(data == vec![7; length]);
        }
        for wrong in [vec![], vec![0; 16], vec![17; 32], [vec![1; 14], vec![3, 2]].concat(), vec![5; 4]] {
            assert!(!remove_padding(&mut wrong.clone()), "{wrong:?}");
        }
    }
}
