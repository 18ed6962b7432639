"""Trace files: `read(path)` and `write(trace, path)` of each format. `trace._open` and `trace._save` choose by name.

eventide/  the recorder's own file: read              chrome/   Chrome JSON and Kineto: written and read
perfetto/  Perfetto's protobuf: written and read      xplane    JAX's profiles: read
parquet    a directory of tables: written and read    _input    files that may be compressed
"""
