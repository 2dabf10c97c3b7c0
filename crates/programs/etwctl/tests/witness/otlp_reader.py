"""Parses OTLP requests with OpenTelemetry's own message definitions and prints what the test asks for as JSON."""
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

logs, spans, scopes = 0, [], set()
for line in open(sys.argv[1]):
    request = json.loads(line)
    if "resourceLogs" in request:
        message = json_format.Parse(line, ExportLogsServiceRequest())
        for resource in message.resource_logs:
            for scope in resource.scope_logs:
                scopes.add(scope.scope.name)
                logs += len(scope.log_records)
    else:
        message = json_format.Parse(line, ExportTraceServiceRequest())
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                spans += [[span.name, span.end_time_unix_nano - span.start_time_unix_nano >= 0] for span in scope.spans]
print(json.dumps({"logs": logs, "spans": spans, "scopes": sorted(scopes)}))
