"""Reads a pcapng file with dpkt and prints its packets as JSON: time, data link, bytes."""
import json
import sys

import dpkt

with open(sys.argv[1], "rb") as file:
    reader = dpkt.pcapng.Reader(file)
    packets = [[f"{time:.4f}", data.hex()] for time, data in reader]
    link = reader.datalink()
frame = dpkt.ethernet.Ethernet(bytes.fromhex(packets[0][1]))
print(json.dumps({"packets": packets, "link": link, "source": dpkt.utils.inet_to_str(frame.data.src), "port": frame.data.data.dport}))
