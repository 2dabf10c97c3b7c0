//! Encodes traffic and its verdicts as bytes.

use std::net::SocketAddr;

use nt_machine::{Connection, Delivered, LayerVerdict, Packet, Passage, Verdict};

use super::Wire;

/// The verdicts; the index of each is its encoded number.
const VERDICTS: [Verdict; 4] = [Verdict::Permit, Verdict::Block, Verdict::Absorb, Verdict::Pend];

/// As text, which has one form for each address.
impl Wire for SocketAddr {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        String::get(from)?.parse().ok()
    }
}

impl Wire for Verdict {
    fn put(&self, out: &mut Vec<u8>) {
        (VERDICTS.iter().position(|known| known == self).unwrap_or_default() as u8).put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        VERDICTS.get(usize::from(u8::get(from)?)).copied()
    }
}

/// Encodes structures as their members, in order.
macro_rules! structures {
    ($($name:ident { $($member:ident),* })*) => { $(impl Wire for $name {
        fn put(&self, out: &mut Vec<u8>) {
            $(self.$member.put(out);)*
        }
        fn get(from: &mut &[u8]) -> Option<Self> {
            Some(Self { $($member: Wire::get(from)?),* })
        }
    })* };
}
structures! {
    Connection { remote, local, inbound, udp, process, application }
    Packet { data, inbound }
    LayerVerdict { layer, verdict, callouts }
    Delivered { inbound, injected, data }
    Passage { id, verdict, layers, redirected, delivered }
}
