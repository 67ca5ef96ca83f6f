"""A server on this machine that speaks the OpenAI chat protocol and misbehaves as its script says.

The time that a client in this process gives an answer is over when the server says so, and not before: an answer that
is meant to be late is late, and no other is, however busy the machine. Clients elsewhere go by their own clock.
"""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from tests.patience import PATIENCE_SECONDS


def completion(text, prompt_tokens=7, completion_tokens=3):
    """The body of a good answer."""
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }
    ).encode()


class Step:
    """One answer: status, body, headers, and how it is sent.

    One that is late never comes; one that drips comes byte by byte for ever, in its head or in its body.
    """

    def __init__(self, body=b"{}", status=200, headers=(), is_late=False, cut=False, drips=False, drips_head=False):
        self.body, self.status, self.headers = body, status, dict(headers)
        self.is_late, self.cut, self.drips, self.drips_head = is_late, cut, drips, drips_head


def say(text, **how):
    return Step(completion(text), **how)


class Loopback:
    """Use as a context; `script(request) -> Step` gets the parsed body of each request."""

    def __init__(self, script):
        self.requests, self._lock, self.stopping = [], threading.Lock(), threading.Event()
        self._deadlines = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append({"path": self.path, "body": body, "key": self.headers["Authorization"]})
                    step = script(body, len(outer.requests) - 1)
                if step.is_late:
                    outer.end_time_of(self.client_address)
                    outer.stopping.wait(PATIENCE_SECONDS)
                    return
                with contextlib.suppress(OSError):  # the client has given up, as it should
                    self._send(step)

            def _send(self, step):
                self.send_response(step.status)
                for name, value in step.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(step.body)))
                if step.drips_head:
                    self.flush_headers()
                    self._drip(b"X-More: yes\r\n")
                self.end_headers()
                if step.drips:
                    self._drip(b" ")
                self.wfile.write(step.body[: len(step.body) // 2] if step.cut else step.body)
                if step.cut:
                    self.close_connection = True

            def _drip(self, piece):
                self.wfile.write(piece)
                outer.end_time_of(self.client_address)
                while not outer.stopping.wait(0.01):
                    self.wfile.write(piece)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def timer(self, seconds, end):
        """In place of `threading.Timer`, for a client's deadline."""
        self._deadlines.append(end.__self__)
        return mock.Mock()

    def end_time_of(self, address):
        """Whoever called from there has waited long enough."""
        for deadline in tuple(self._deadlines):
            if address in [socket.getsockname() for socket in deadline._sockets if socket.fileno() >= 0]:
                deadline._end()

    def __enter__(self):
        self._patch = mock.patch("rl_models.chat.endpoint.Timer", self.timer)
        self._patch.start()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._patch.stop()
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
