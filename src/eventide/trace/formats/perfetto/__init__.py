"""Perfetto's protobuf, .pftrace: written by us, and read whoever wrote it.

_writer  _tracks  _proto          writes
_reader  _packets  _foreign       reads; _foreign is for files of other tools
"""
