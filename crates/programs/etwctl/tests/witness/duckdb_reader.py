"""Reads a folder of Parquet files with DuckDB and prints what the test asks for as JSON."""
import json
import sys

import duckdb

folder = sys.argv[1]
database = duckdb.connect()
wide = f"read_parquet('{folder}/*.parquet', union_by_name = true)"
one = f"read_parquet('{folder}/MyDriver.Read.parquet')"
types = {row[0]: row[1] for row in database.sql(f"DESCRIBE SELECT * FROM {one}").fetchall()}
rows = database.sql(f"SELECT Length, Flags, \"Where.Line\", Numbers, Status, Text, Ok, epoch_ns(time), time_2::VARCHAR FROM {one} ORDER BY time").fetchall()
answer = {
    "types": types,
    "rows": rows,
    "events": database.sql(f"SELECT event, count(*) FROM {wide} GROUP BY event ORDER BY event NULLS FIRST").fetchall(),
    "sum": database.sql(f"SELECT count(Length) FROM {one} WHERE Status LIKE '%NOT_SUPPORTED'").fetchone()[0],
}
print(json.dumps(answer))
