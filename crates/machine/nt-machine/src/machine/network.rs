//! Traffic for callout drivers.

use nt_network::{Connection, Packet, Passage};

use super::Machine;

impl Machine {
    /// Opens a connection, and lets it pass the filtering layers.
    #[must_use]
    pub fn connect(self, connection: &Connection) -> Passage {
        nt_network::connect(connection)
    }

    /// Sends or receives a packet. Returns `None` if it is not a complete IP datagram.
    #[must_use]
    pub fn send_packet(self, packet: &Packet) -> Option<Passage> {
        nt_network::send(packet)
    }

    /// Sends or receives data of a connection, which the number of its passage identifies. Returns `None` if the
    /// connection does not exist any more.
    #[must_use]
    pub fn transfer(self, connection: u64, inbound: bool, data: &[u8]) -> Option<Passage> {
        nt_network::transfer(connection, inbound, data)
    }

    /// Ends a connection. Returns whether it existed.
    #[must_use]
    pub fn disconnect(self, connection: u64) -> bool {
        nt_network::disconnect(connection)
    }

    /// Returns a passage as it is now, with the packets that left the stack since the last look.
    #[must_use]
    pub fn passage(self, id: u64) -> Option<Passage> {
        nt_network::passage(id)
    }
}
