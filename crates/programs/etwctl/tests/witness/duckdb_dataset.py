"""Asks a dataset of traces with DuckDB and prints the results as JSON."""
import json
import sys

import duckdb

folder = sys.argv[1]
database = duckdb.connect()
events = f"read_parquet('{folder}/provider_key=*/*/*/*.parquet', union_by_name = true, hive_partitioning = true)"
reads = f"read_parquet('{folder}/provider_key=MyDriver/event_key=Read/*/*.parquet', union_by_name = true, hive_partitioning = true)"


def ask(question):
    return database.sql(question).fetchall()


print(json.dumps({
    "traces": ask(f"SELECT count(DISTINCT trace), count(DISTINCT machine) FROM {events}"),
    "events": ask(f"SELECT provider, event, count(*) FROM {events} WHERE provider = 'MyDriver' GROUP BY ALL ORDER BY ALL"),
    "days": ask(f"SELECT count(DISTINCT day) FROM {reads}"),
    "partition": ask(f"SELECT count(*) FROM {events} WHERE provider_key = 'MyDriver' AND event_key = 'Read' AND day = '2024-05-06'"),
    "longest": ask(f"SELECT max(Length) FROM {reads}"),
    "failed": ask(f"SELECT count(*) FROM {reads} WHERE Status LIKE '%NOT_SUPPORTED'"),
    "new": ask(f"SELECT count(*), count(New) FROM {reads}"),
    "first": ask(f"SELECT epoch_ns(min(time)) FROM {reads} WHERE day = '2024-05-06'"),
    "levels": ask(f"SELECT level, count(*) FROM {reads} GROUP BY ALL ORDER BY ALL"),
    "raw": ask(f"SELECT count(raw) FROM {reads}"),
}, default=str))
