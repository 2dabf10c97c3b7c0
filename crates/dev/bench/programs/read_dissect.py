"""Reads every event of a trace with dissect.etl; prints events, bytes, nanoseconds of processor time and peak memory as JSON."""

import json
import os
import resource
import sys
import time

from dissect.etl import ETL


def main(path):
    events = 0
    started = time.process_time_ns()
    with open(path, "rb") as stream:
        for record in ETL(stream):
            if getattr(record.header, "header_extensions", None) is not None:
                record.event.event_values()
                bytes(record.header.payload)
            events += 1
    elapsed = time.process_time_ns() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"events": events, "bytes": os.path.getsize(path), "ns": elapsed, "peak_kib": peak}))


main(sys.argv[1])
