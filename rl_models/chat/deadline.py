"""A moment after which a try's connection is shut, whatever its server is sending.

Time-outs of an HTTP library begin anew with each byte that comes, so a server that sends the head of an answer slowly
could hold a call as long as it likes. This file must not know what is sent.
"""

from __future__ import annotations

import contextlib
import socket
from threading import Lock, Timer
from types import TracebackType
from typing import Any


class Deadline:
    """Use as a context around one try; when its time is over its sockets are shut, which wakes whoever waits there."""

    def __init__(self, seconds: float) -> None:
        """The time begins with the context."""
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = Lock()
        self._sockets: list[socket.socket] = []
        self.is_over = False

    def __enter__(self) -> Deadline:
        """Begin."""
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The try has ended by itself."""
        self._timer.cancel()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Learn of a connection: for the extension `trace` of an httpcore request, which tells of each one opened."""
        stream = info.get("return_value")
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")) or stream is None:
            return
        with self._lock:
            self._sockets.append(stream.get_extra_info("socket"))
            if self.is_over:
                self._shut()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def _shut(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):  # the other side was faster
                # Of the plain class: that of TLS would take the cipher from under the thread that reads.
                socket.socket.shutdown(one, socket.SHUT_RDWR)
