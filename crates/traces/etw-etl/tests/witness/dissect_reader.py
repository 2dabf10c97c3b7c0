"""What dissect.etl finds in a trace, as JSON. Run in a virtual environment that has it; see witnesses.rs."""

import json
import sys

from dissect.etl import ETL


def main(path):
    with open(path, "rb") as stream:
        trace = ETL(stream)
        found = {"session": None, "file": None, "start": trace.start_time, "events": []}
        for record in trace:
            header = record.header
            extensions = getattr(header, "header_extensions", None)
            if extensions is None:
                values = record.event
                found["session"] = getattr(values, "SessionNameString", found["session"])
                found["file"] = getattr(values, "LogFileNameString", found["file"])
                continue
            items = record.event.event_values()["Extensions"]
            event = {
                "provider_bytes": header.provider_id.bytes.hex(),
                "time": header.timestamp.isoformat(),
                "pid": header.process_id,
                "tid": header.thread_id,
                "payload": bytes(header.payload).hex(),
            }
            for item in items:
                if "ProviderName" in item:
                    event["provider"] = item["ProviderName"].decode()
                if "EventSchema" in item:
                    event["schema"] = item["EventSchema"].hex()
            found["events"].append(event)
    print(json.dumps(found))


main(sys.argv[1])
