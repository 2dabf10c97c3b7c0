"""Loads and runs a driver in speakeasy; prints nanoseconds and the emulated entry points, or the error, as JSON."""

import json
import sys
import time

import speakeasy


def main(path):
    started = time.perf_counter_ns()
    try:
        emulator = speakeasy.Speakeasy()
        emulator.run_module(emulator.load_module(path), all_entrypoints=True)
        report = emulator.get_report()
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}))
        return
    elapsed = time.perf_counter_ns() - started
    entries = report.get("entry_points", [])
    errors = [entry["error"].get("type", "error") for entry in entries if entry.get("error")]
    names = [entry.get("ep_type", "?") for entry in entries]
    text = ", ".join(names) + (f" (stopped: {', '.join(errors)})" if errors else "")
    print(json.dumps({"ns": elapsed, "entry_points": text}))


main(sys.argv[1])
