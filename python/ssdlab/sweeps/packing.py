"""Results of large sweeps, packed: without time series, and compressed against one point's results.

All points have equal keys, and often equal values, so that a point takes about 2 KB instead of 30.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

#: Number of points of a sweep above which results are packed.
FROM = 1_000
#: Sections of results that packed ones lack.
LEFT_OUT = ("time_series", "timeline")
#: Message about results whose first ones are missing.
MISSING = "the line with which it was compressed is missing or damaged"
#: Window of the compression: 32 KiB, without a header.
_WINDOW, _BYTES = -15, 1 << 15


class Packing:
    """Packs results against the first ones, and unpacks them."""

    def __init__(self) -> None:
        self._first: bytes | None = None

    @property
    def knows_first(self) -> bool:
        """True if there are first results."""
        return self._first is not None

    def is_mine(self, packed: bytes) -> bool:
        """True if results were packed against the known first ones."""
        return self._first is not None and packed.startswith(b"%08x:" % zlib.crc32(self._first))

    def begin(self, results: bytes) -> None:
        """Take these results, JSON as text, as the first ones."""
        self._first = results[-_BYTES:]

    def pack(self, results: bytes) -> bytes:
        """The results of a point as JSON: the first ones as they are, later ones as a string."""
        short = shortened(json.loads(results))
        if self._first is None:
            self.begin(short)
            return short
        deflate = zlib.compressobj(
            9, zlib.DEFLATED, _WINDOW, 9, zlib.Z_DEFAULT_STRATEGY, self._first
        )
        text = base64.b64encode(deflate.compress(short) + deflate.flush())
        return b'"%08x:%s"' % (zlib.crc32(self._first), text)

    def unpack(self, results: Any) -> dict[str, Any]:
        """Results that `pack` gave; others as they are.

        Raises `ValueError` if the first ones are missing or were changed.
        """
        if not isinstance(results, str):
            found: dict[str, Any] = results
            return found
        if self._first is None or not self.is_mine(results.encode()):
            raise ValueError(MISSING)
        text = results.partition(":")[2]
        inflate = zlib.decompressobj(_WINDOW, self._first)
        try:
            data = inflate.decompress(base64.b64decode(text)) + inflate.flush()
        except (ValueError, zlib.error) as error:
            raise ValueError(f"it cannot be decompressed: {error}") from None
        unpacked: dict[str, Any] = json.loads(data)
        return unpacked


def shortened(results: dict[str, Any]) -> bytes:
    """Results without series over time, as compact JSON."""
    kept = {key: it for key, it in results.items() if key not in LEFT_OUT}
    return json.dumps(kept, separators=(",", ":")).encode()
