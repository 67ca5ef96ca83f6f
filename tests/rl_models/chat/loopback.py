"""A server on this machine that speaks the OpenAI chat protocol and misbehaves as its script says.

The deadline of a client in this process is over when the server says so, and not before, however busy the machine.
Clients elsewhere go by their own clock.
"""

import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import openai

from tests.timeouts import TIMEOUT_SECONDS

TASK = "X-Task"
"""Header with the task of a client in this process."""


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


_SEND = openai.DefaultAsyncHttpxClient.send


async def _send_with_task(client, request, **options):
    request.headers[TASK] = asyncio.current_task().get_name()
    return await _SEND(client, request, **options)


class Loopback:
    """Use as a context; `script(request) -> Step` gets the parsed body of each request."""

    def __init__(self, script):
        self.requests, self._lock, self.stopping = [], threading.Lock(), threading.Event()
        self._deadlines, self.pauses = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append({"path": self.path, "body": body, "key": self.headers["Authorization"]})
                    step = script(body, len(outer.requests) - 1)
                if step.is_late:
                    outer.end_time(self.headers[TASK])
                    outer.stopping.wait(TIMEOUT_SECONDS)
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
                outer.end_time(self.headers[TASK])
                while not outer.stopping.wait(0.01):
                    self.wfile.write(piece)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def timeout(self, seconds):
        """In place of `asyncio.timeout`, for a client's deadline."""
        scope = asyncio.timeout(None)
        self._deadlines[asyncio.current_task().get_name()] = asyncio.get_running_loop(), scope
        return scope

    async def sleep(self, seconds):
        """In place of a client's pause between attempts."""
        self.pauses.append(seconds)

    def end_time(self, task):
        """The task has waited long enough."""
        if task in self._deadlines:
            loop, scope = self._deadlines.pop(task)
            loop.call_soon_threadsafe(scope.reschedule, 0)

    def __enter__(self):
        self._patches = contextlib.ExitStack()
        self._patches.enter_context(mock.patch("rl_models.chat.endpoint.timeout", self.timeout))
        self._patches.enter_context(mock.patch("anyio.sleep", self.sleep))
        self._patches.enter_context(mock.patch.object(openai.DefaultAsyncHttpxClient, "send", _send_with_task))
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._patches.close()
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
