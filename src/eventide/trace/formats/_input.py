"""The bytes of a trace file, plain or gzip, in pieces of at most a megabyte."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from errno import EIO
from pathlib import Path
from typing import BinaryIO

from eventide.errors import TraceFileError, TraceFormatError

_PIECE = 1 << 20
FREE = 64 << 20  # inflated bytes that are always allowed
INFLATE_LIMIT = 200  # beyond FREE: the most inflated bytes for each byte of the file
_GZIP = 31  # zlib's number for "with a gzip header"


def pieces(file: Path, inflate_limit: float | None) -> Iterator[bytes]:
    """The file's content. After the last good piece, EOFError if a gzip stream ends early or is damaged."""
    try:
        opened = file.open("rb")
    except OSError as error:
        message = f"cannot read {str(file)!r}: {error.strerror}"
        raise TraceFileError(message, error.errno or EIO, str(file)) from error
    with opened:
        head = opened.read(2)
        opened.seek(0)
        if head == b"\x1f\x8b":
            yield from _inflated(opened, file, inflate_limit)
        else:
            while piece := opened.read(_PIECE):
                yield piece


def whole(file: Path, warnings: list[str]) -> bytes:
    """The whole content; a gzip stream that ends early adds a warning."""
    data = bytearray()
    try:
        for piece in pieces(file, INFLATE_LIMIT):
            data += piece
    except EOFError as error:
        warnings.append(f"{error}; what precedes it was read")
    return bytes(data)


def _inflated(opened: BinaryIO, file: Path, limit: float | None) -> Iterator[bytes]:
    written = 0
    inflater = zlib.decompressobj(_GZIP)
    while raw := inflater.unconsumed_tail or inflater.unused_data or opened.read(_PIECE // 4):
        if inflater.eof:  # streams may be concatenated, and followed by padding zeros
            raw = raw.lstrip(b"\0") or opened.read(_PIECE // 4).lstrip(b"\0")
            inflater = zlib.decompressobj(_GZIP) if raw else inflater
            if not raw:
                break
        before = inflater.copy()
        try:
            piece = inflater.decompress(raw, _PIECE)
        except zlib.error as error:
            yield from _good_part(before, raw)
            at = opened.tell() - len(raw)
            raise EOFError(f"the gzip stream is damaged after byte {at:,} of the file ({error})") from error
        written += len(piece)
        read = opened.tell() - len(inflater.unconsumed_tail)
        if limit is not None and written > max(FREE, limit * read):
            raise TraceFormatError(
                f"{read:,} bytes of gzip became more than {written:,}, over {limit:g} times as much: this looks like a "
                "decompression bomb; if it is not, inflate it with gunzip first, or read it with inflate_limit=None",
                str(file),
                read,
            )
        if piece:
            yield piece
    if not inflater.eof:
        raise EOFError(f"the gzip stream ends early, at byte {opened.tell():,} of the file; the copy is not complete")


def _good_part(inflater: zlib._Decompress, raw: bytes) -> Iterator[bytes]:
    """The output before the damaged byte; at most a few dozen bytes are lost."""
    for at in range(0, len(raw), 64):
        try:
            yield inflater.decompress(raw[at : at + 64])
        except zlib.error:
            return
