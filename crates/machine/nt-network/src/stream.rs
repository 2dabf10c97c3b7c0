//! The layer data of the stream layers.

use nt_kernel::{kernel, lock};
use nt_processor::layout::{FWPS_STREAM_CALLOUT_IO_PACKET0, FWPS_STREAM_DATA0, NET_BUFFER_LIST};
use nt_processor::memory::{Fault, GuestPtr};
use windows_constants::filtering_platform::{
    FWPS_STREAM_ACTION_DROP_CONNECTION, FWPS_STREAM_FLAG_RECEIVE, FWPS_STREAM_FLAG_SEND,
};

use super::flow;

/// Stream data that is indicated to callouts.
pub(super) struct Packet {
    packet: GuestPtr<FWPS_STREAM_CALLOUT_IO_PACKET0>,
    data: GuestPtr<FWPS_STREAM_DATA0>,
}

impl Packet {
    pub(super) fn new(list: GuestPtr<NET_BUFFER_LIST>, length: u64, inbound: bool) -> Result<Self, Fault> {
        let (packet, data) = {
            let mut pool = lock(&kernel().pool);
            (pool.new_object::<FWPS_STREAM_CALLOUT_IO_PACKET0>(), pool.new_object::<FWPS_STREAM_DATA0>())
        };
        data.flags().write(if inbound { FWPS_STREAM_FLAG_RECEIVE } else { FWPS_STREAM_FLAG_SEND })?;
        data.dataLength().write(length)?;
        data.netBufferListChain().write(list)?;
        data.dataOffsetList().write(list)?;
        let buffer = list.FirstNetBuffer().read()?;
        data.dataOffsetBuffer().write(buffer)?;
        data.dataOffsetMdl().write(buffer.MdlChain().read()?)?;
        packet.streamData().write(data)?;
        Ok(Self { packet, data })
    }

    /// Returns the address that classify functions get.
    pub(super) const fn address(&self) -> u64 {
        self.packet.address()
    }

    /// Ends the indication. A callout may have requested to drop the connection.
    pub(super) fn end(self, flow: Option<u64>) -> Result<(), Fault> {
        let action = self.packet.streamAction().read()?;
        {
            let mut pool = lock(&kernel().pool);
            pool.free_object(self.packet.address());
            pool.free_object(self.data.address());
        }
        if let Some(id) = flow.filter(|_| action == FWPS_STREAM_ACTION_DROP_CONNECTION) {
            flow::end(id);
        }
        Ok(())
    }
}
