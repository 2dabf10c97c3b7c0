"""Asks a dataset of traces with Polars and prints the results as JSON."""
import json
import pathlib
import sys

import polars as pl

folder = pathlib.Path(sys.argv[1])
names = ["provider", "event", "trace", "machine", "provider_key", "event_key", "day"]


def scan(pattern):
    files = sorted(folder.glob(pattern))
    return [pl.scan_parquet(file, hive_partitioning=True, hive_schema={name: pl.String for name in names[4:]}) for file in files]


events = pl.concat([table.select(names) for table in scan("provider_key=*/*/*/*.parquet")]).collect()
# Each file has the fields of its events, and a later one may have more.
reads = pl.concat(scan("provider_key=MyDriver/event_key=Read/*/*.parquet"), how="diagonal_relaxed").collect()


def rows(table):
    return sorted([list(row) for row in table.rows()])


print(json.dumps({
    "traces": [[events["trace"].n_unique(), events["machine"].n_unique()]],
    "events": rows(events.filter(pl.col("provider") == "MyDriver").group_by("provider", "event").len()),
    "days": [[reads["day"].n_unique()]],
    "partition": [[events.filter(provider_key="MyDriver", event_key="Read", day="2024-05-06").height]],
    "longest": [[reads["Length"].max()]],
    "failed": [[reads["Status"].str.ends_with("NOT_SUPPORTED").sum()]],
    "new": [[reads.height, reads["New"].count()]],
    "first": [[reads.filter(day="2024-05-06")["time"].cast(pl.Int64).min()]],
    "levels": rows(reads.group_by("level").len()),
    "raw": [[reads["raw"].count()]],
}))
