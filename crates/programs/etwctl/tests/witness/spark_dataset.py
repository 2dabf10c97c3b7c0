"""Asks a dataset of traces with Apache Spark and prints the results as JSON."""
import json
import sys

from pyspark.sql import SparkSession

folder = sys.argv[1]
# Spark has no timestamps of nanoseconds; it reads them as numbers.
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
         .config("spark.sql.legacy.parquet.nanosAsLong", "true").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
spark.read.schema("provider string, event string, trace string, machine string").parquet(folder).createOrReplaceTempView("events")
(spark.read.option("basePath", folder).option("mergeSchema", "true")
 .parquet(f"{folder}/provider_key=MyDriver/event_key=Read").createOrReplaceTempView("reads"))


def ask(question):
    return [[value if isinstance(value, str) else int(value) for value in row] for row in spark.sql(question).collect()]


print(json.dumps({
    "traces": ask("SELECT count(DISTINCT trace), count(DISTINCT machine) FROM events"),
    "events": ask("SELECT provider, event, count(*) FROM events WHERE provider = 'MyDriver' GROUP BY ALL ORDER BY ALL"),
    "days": ask("SELECT count(DISTINCT day) FROM reads"),
    "partition": ask("SELECT count(*) FROM events WHERE provider_key = 'MyDriver' AND event_key = 'Read' AND day = '2024-05-06'"),
    "longest": ask("SELECT max(Length) FROM reads"),
    "failed": ask("SELECT count(*) FROM reads WHERE Status LIKE '%NOT_SUPPORTED'"),
    "new": ask("SELECT count(*), count(New) FROM reads"),
    "first": ask("SELECT min(time) FROM reads WHERE day = '2024-05-06'"),
    "levels": ask("SELECT level, count(*) FROM reads GROUP BY ALL ORDER BY ALL"),
    "raw": ask("SELECT count(raw) FROM reads"),
}))
spark.stop()
