"""Reads and decodes every event of a trace with etl-parser; prints events, bytes, nanoseconds of processor time and peak memory as JSON."""

import json
import os
import resource
import sys
import time

from etl.etl import IEtlFileObserver, build_from_stream


class Counter(IEtlFileObserver):
    def __init__(self):
        self.events = 0

    def on_system_trace(self, event):
        self.events += 1

    def on_perfinfo_trace(self, event):
        self.events += 1

    def on_trace_record(self, event):
        self.events += 1

    def on_win_trace(self, event):
        self.events += 1

    def on_event_record(self, event):
        dict(event.parse_tracelogging().items())
        self.events += 1


def main(path):
    counter = Counter()
    started = time.process_time_ns()
    with open(path, "rb") as stream:
        build_from_stream(stream.read()).parse(counter)
    elapsed = time.process_time_ns() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"events": counter.events, "bytes": os.path.getsize(path), "ns": elapsed, "peak_kib": peak}))


main(sys.argv[1])
