"""What etl-parser finds in a trace, as JSON. Run in a virtual environment that has it; see witnesses.rs."""

import json
import sys

from etl.error import EventTypeNotFound, GroupNotFound, VersionNotFound
from etl.etl import IEtlFileObserver, build_from_stream


class Collector(IEtlFileObserver):
    def __init__(self):
        self.events = []
        self.kernel = []

    def on_system_trace(self, event):
        self.kernel_event(event.source.system_header, event)

    def on_perfinfo_trace(self, event):
        self.kernel_event(event.source, event)

    def on_trace_record(self, event):
        pass

    def on_win_trace(self, event):
        pass

    def on_event_record(self, event):
        parsed = event.parse_tracelogging()
        self.events.append(
            {
                "event": parsed.get_name(),
                "pid": event.get_process_id(),
                "tid": event.get_thread_id(),
                "fields": dict(parsed.items()),
            }
        )


    def kernel_event(self, header, event):
        """Takes the numbers of an event whose class is known, in their order."""
        try:
            fields = event.get_mof().source
        except (GroupNotFound, VersionNotFound, EventTypeNotFound):
            return
        numbers = [[name, value] for name, value in fields.items() if isinstance(value, int)]
        hook = int(header.header.group) << 8 | int(header.header.type)
        self.kernel.append({"hook": hook, "version": header.marker.version, "numbers": numbers})


def main(path):
    collector = Collector()
    with open(path, "rb") as stream:
        build_from_stream(stream.read()).parse(collector)
    print(json.dumps({"events": collector.events, "kernel": collector.kernel}))


main(sys.argv[1])
