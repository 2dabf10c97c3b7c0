"""Asks a dataset of traces with pyarrow and prints the results as JSON."""
import json
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

folder = sys.argv[1]
texts = ["provider", "event", "trace", "machine", "provider_key", "event_key", "day"]
events = ds.dataset(folder, schema=pa.schema([(name, pa.string()) for name in texts]), format="parquet", partitioning="hive").to_table()
reads = ds.dataset(f"{folder}/provider_key=MyDriver/event_key=Read", format="parquet", partitioning="hive")
schema = pa.unify_schemas([reads.schema, *(fragment.physical_schema for fragment in reads.get_fragments())])
reads = reads.replace_schema(schema).to_table()


def rows(table):
    return sorted([list(row.values()) for row in table.to_pylist()])


def chosen(**wanted):
    filtered = events
    for name, value in wanted.items():
        filtered = filtered.filter(pc.equal(filtered[name], value))
    return filtered


print(json.dumps({
    "traces": [[pc.count_distinct(events["trace"]).as_py(), pc.count_distinct(events["machine"]).as_py()]],
    "events": rows(chosen(provider="MyDriver").group_by(["provider", "event"]).aggregate([([], "count_all")])),
    "days": [[pc.count_distinct(reads["day"]).as_py()]],
    "partition": [[chosen(provider_key="MyDriver", event_key="Read", day="2024-05-06").num_rows]],
    "longest": [[pc.max(reads["Length"]).as_py()]],
    "failed": [[pc.sum(pc.ends_with(reads["Status"], "NOT_SUPPORTED")).as_py()]],
    "new": [[reads.num_rows, pc.count(reads["New"]).as_py()]],
    "first": [[pc.min(reads.filter(pc.equal(reads["day"].cast(pa.string()), "2024-05-06"))["time"].cast(pa.int64())).as_py()]],
    "levels": rows(reads.group_by("level").aggregate([([], "count_all")])),
    "raw": [[pc.count(reads["raw"]).as_py()]],
}))
