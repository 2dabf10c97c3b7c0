//! Hashes and message authentication codes.

use etw_types::NtStatus;
use hmac::Hmac;
use sha2::digest::core_api::BlockSizeUser;
use sha2::digest::{FixedOutputReset, KeyInit, OutputSizeUser, Update};

/// A hash or a message authentication code that is being computed.
pub(super) trait Hasher: Send {
    /// Adds data.
    fn add(&mut self, data: &[u8]);

    /// Returns the value, and starts again with the same key.
    fn finish(&mut self) -> Vec<u8>;

    /// Returns a copy with the data so far.
    fn copy(&self) -> Box<dyn Hasher>;
}

impl<D: Update + FixedOutputReset + Clone + Send + 'static> Hasher for D {
    fn add(&mut self, data: &[u8]) {
        self.update(data);
    }

    fn finish(&mut self) -> Vec<u8> {
        self.finalize_fixed_reset().to_vec()
    }

    fn copy(&self) -> Box<dyn Hasher> {
        Box::new(self.clone())
    }
}

macro_rules! digests {
    ($($name:ident: $type:ty;)*) => {
        /// A hash algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Digest {
            $($name,)*
        }

        impl Digest {
            /// Starts a hash or, with a key, an HMAC.
            pub(super) fn start(self, key: Option<&[u8]>) -> Result<Box<dyn Hasher>, NtStatus> {
                Ok(match (self, key) {
                    $(
                        (Self::$name, None) => Box::new(<$type>::default()),
                        (Self::$name, Some(key)) => {
                            let keyed = <Hmac<$type> as KeyInit>::new_from_slice(key);
                            Box::new(keyed.map_err(|_| NtStatus::InvalidParameter)?)
                        }
                    )*
                })
            }

            /// Returns the number of bytes of a value.
            pub(super) fn length(self) -> usize {
                match self {
                    $(Self::$name => <$type as OutputSizeUser>::output_size(),)*
                }
            }

            /// Returns the number of bytes that are processed at a time.
            pub(super) fn block_length(self) -> usize {
                match self {
                    $(Self::$name => <$type as BlockSizeUser>::block_size(),)*
                }
            }

            /// Derives a key from a password with PBKDF2.
            pub(super) fn derive(self, password: &[u8], salt: &[u8], rounds: u32, key: &mut [u8]) {
                match self {
                    $(Self::$name => pbkdf2::pbkdf2_hmac::<$type>(password, salt, rounds, key),)*
                }
            }
        }
    };
}
digests! {
    Md5: md5::Md5;
    Sha1: sha1::Sha1;
    Sha256: sha2::Sha256;
    Sha384: sha2::Sha384;
    Sha512: sha2::Sha512;
}
