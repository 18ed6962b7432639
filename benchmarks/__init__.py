"""Benchmarks: one question a file, answered as a ratio against a named peer in one run. README.md says how."""
