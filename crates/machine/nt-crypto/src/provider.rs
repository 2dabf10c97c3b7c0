//! Opens and closes algorithm providers, and generates random numbers.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::{object, random_bytes};
use nt_kernel::kernel;
use nt_processor::cpu::thread;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{CNG, DISPATCH, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::cryptography::{
    BCRYPT_ALG_HANDLE_HMAC_FLAG, BCRYPT_HASH_REUSABLE_FLAG, BCRYPT_PROV_DISPATCH, BCRYPT_USE_SYSTEM_PREFERRED_RNG,
};
use windows_releases::Release as Os;

use super::algorithm::{self, Kind, Mode};
use super::state::{PROVIDER, Provider, not_modelled, number_of, provider, state};

/// `MS_PRIMITIVE_PROVIDER`.
const PRIMITIVE: &str = "Microsoft Primitive Provider";
/// The longest name that is read, with its end.
const LONGEST_NAME: u64 = 256;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(CNG), fails(NtStatus::NoMemory)]
    fn BCryptOpenAlgorithmProvider(
        &call,
        place: Out<KernelHandle>,
        algorithm: GuestPtr<u16>,
        implementation: Option<GuestPtr<u16>>,
        flags: u32,
    ) -> Outcome {
        if algorithm.is_null() || !place.is_wanted() {
            return fail(NtStatus::InvalidParameter);
        }
        let name = text(algorithm)?;
        let implementation = implementation.map(text).transpose()?;
        let Some((name, kind)) = algorithm::find(&name).filter(|_| implementation.is_none_or(|name| name == PRIMITIVE))
        else {
            if algorithm::is_other(&name) {
                not_modelled(format_args!("opens a provider of the algorithm {name}"));
            }
            return fail(NtStatus::NotFound);
        };
        let is_hash = matches!(kind, Kind::Hash(_));
        let known = if is_hash { BCRYPT_PROV_DISPATCH | BCRYPT_ALG_HANDLE_HMAC_FLAG | reusable() } else { BCRYPT_PROV_DISPATCH };
        if flags & !known != 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let number = state().number();
        let handle = object::open(PROVIDER, number, call.from)?;
        let made = Provider {
            name,
            kind,
            mode: Mode::Cbc,
            is_keyed: flags & BCRYPT_ALG_HANDLE_HMAC_FLAG != 0,
            is_reusable: flags & BCRYPT_HASH_REUSABLE_FLAG != 0,
            is_dispatch: flags & BCRYPT_PROV_DISPATCH != 0,
            number: Some(number),
        };
        state().providers.insert(number, made);
        place.set(handle)?;
        done(())
    }

    /// A provider that was opened with `BCRYPT_PROV_DISPATCH` must exist longer than its hashes and keys.
    #[irql(PASSIVE), module(CNG)]
    fn BCryptCloseAlgorithmProvider(handle: KernelHandle, _flags: Ignored<u32>) -> Outcome<NtStatus> {
        let number = number_of(handle, PROVIDER)?;
        let (closed, left) = {
            let mut state = state();
            (state.providers.remove(&number), state.dependents(number))
        };
        if left != 0 && closed.is_some_and(|provider| provider.is_dispatch) {
            let detail = format_args!(
                "closes a provider that was opened with BCRYPT_PROV_DISPATCH before its hashes and keys ({left} left)"
            );
            verify::find(Rule::BadArgument, detail);
        }
        done(object::close(handle))
    }

    /// The numbers are the same in every run, so that a run can be repeated.
    #[irql(DISPATCH), module(CNG), fails(NtStatus::InvalidParameter), keeps_nothing]
    fn BCryptGenRandom(handle: KernelHandle, buffer: GuestSlice<u8>, flags: u32) -> Outcome {
        if flags & BCRYPT_USE_SYSTEM_PREFERRED_RNG != 0 {
            if handle.as_int() != 0 {
                return fail(NtStatus::InvalidParameter);
            }
            if thread::irql() > PASSIVE {
                let detail = format_args!(
                    "called at IRQL {} with BCRYPT_USE_SYSTEM_PREFERRED_RNG, allowed up to {PASSIVE}",
                    thread::irql()
                );
                verify::find(Rule::IrqlTooHigh, detail);
            }
        } else if provider(handle)?.kind != Kind::Random {
            return fail(NtStatus::InvalidHandle);
        }
        random_bytes(buffer)?;
        done(())
    }

    #[irql(PASSIVE), module(CNG), fixed]
    fn BCryptGetFipsAlgorithmMode(enabled: Out<u8>) -> Outcome {
        enabled.set(0)?;
        done(())
    }
}

/// Returns `BCRYPT_HASH_REUSABLE_FLAG` if this Windows has it.
pub(super) fn reusable() -> u32 {
    if kernel().config.os >= Os::Win8 { BCRYPT_HASH_REUSABLE_FLAG } else { 0 }
}

/// Reads a name.
pub(super) fn text(name: GuestPtr<u16>) -> Outcome<String> {
    done(String::from_utf16_lossy(&name.until(0, LONGEST_NAME)?))
}
