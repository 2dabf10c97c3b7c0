"""What etl-parser finds in a trace, as JSON. Run in a virtual environment that has it; see witnesses.rs."""

import json
import sys

from etl.etl import IEtlFileObserver, build_from_stream


class Collector(IEtlFileObserver):
    def __init__(self):
        self.events = []

    def on_system_trace(self, event):
        pass

    def on_perfinfo_trace(self, event):
        pass

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


def main(path):
    collector = Collector()
    with open(path, "rb") as stream:
        build_from_stream(stream.read()).parse(collector)
    print(json.dumps(collector.events))


main(sys.argv[1])
