"""Perfetto's protobuf, .pftrace: writes it, and reads that of any tool.

_writer  _tracks  _proto          writes
_reader  _packets  _foreign       reads; _foreign is for files of other tools
"""
