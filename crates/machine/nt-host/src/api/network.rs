//! Traffic for callout drivers of the Windows Filtering Platform.

use nt_machine::{Connection, Packet, Passage};

use super::NtHost;
use crate::Error;
use crate::wire::{Reply, Request};

impl NtHost {
    /// Opens a connection: it passes the filtering layers in the order of Windows, and the driver's callouts see it where
    /// the driver has filters. For TCP, the host plays the other side of the handshake.
    ///
    /// ```no_run
    /// use nt_host::{Connection, NtHost, Packet, Verdict};
    ///
    /// let host = NtHost::builder().driver("callout.sys").start()?;
    /// let blocked = host.connect(Connection::to("10.0.0.1:23".parse().expect("an address")))?;
    /// assert_eq!(blocked.verdict, Verdict::Block);
    /// let permitted = host.connect(Connection::to("10.0.0.1:443".parse().expect("an address")))?;
    /// println!("{:?}", host.transfer(&permitted, false, b"hello")?.verdict);
    /// println!("{:?}", host.passage(&permitted)?.delivered);
    /// host.disconnect(&permitted)?;
    /// let datagram = std::fs::read("datagram.bin").expect("an IP datagram");
    /// println!("{:?}", host.send_packet(Packet { data: datagram, inbound: true })?.verdict);
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn connect(&self, connection: Connection) -> Result<Passage, Error> {
        self.passing(&Request::Connect { connection })
    }

    /// Sends or receives a packet.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_INVALID_PARAMETER` if it is not a complete IP datagram, and if the driver stops the machine.
    pub fn send_packet(&self, packet: Packet) -> Result<Passage, Error> {
        self.passing(&Request::SendPacket { packet })
    }

    /// Sends data through a connection, or receives it from the other side.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_INVALID_PARAMETER` if the connection does not exist, for example because a callout blocked it,
    /// and if the driver stops the machine.
    pub fn transfer(&self, connection: &Passage, inbound: bool, data: &[u8]) -> Result<Passage, Error> {
        self.passing(&Request::Transfer { connection: connection.id, inbound, data: data.to_vec() })
    }

    /// Ends a connection: the driver's flow contexts are deleted.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_INVALID_PARAMETER` if the connection does not exist, and if the driver stops the machine.
    pub fn disconnect(&self, connection: &Passage) -> Result<(), Error> {
        self.call_for_status(&Request::Disconnect { connection: connection.id })
    }

    /// Returns how far a connection or packet has come by now, for example after the driver has completed a pended
    /// operation. [`Passage::delivered`] has the packets that left the stack since the last look.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn passage(&self, passage: &Passage) -> Result<Passage, Error> {
        self.passing(&Request::Passage { id: passage.id })
    }

    fn passing(&self, request: &Request) -> Result<Passage, Error> {
        match self.call(request)? {
            Reply::Passage { passage } => Ok(passage),
            reply => Err(self.unexpected(reply)),
        }
    }
}
