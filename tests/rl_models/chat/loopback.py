"""A server on this machine that speaks the OpenAI chat protocol and misbehaves as its script says."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
    """One answer: status, body, headers, and how it is sent."""

    def __init__(self, body=b"{}", status=200, headers=(), delay=0.0, cut=False, drip=None, drips_head=False):
        self.body, self.status, self.headers = body, status, dict(headers)
        self.delay, self.cut, self.drip, self.drips_head = delay, cut, drip, drips_head


def say(text, **how):
    return Step(completion(text), **how)


class Loopback:
    """Use as a context; `script(request) -> Step` gets the parsed body of each request."""

    def __init__(self, script):
        self.requests, self._lock, self.stopping = [], threading.Lock(), threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append({"path": self.path, "body": body, "key": self.headers["Authorization"]})
                    step = script(body, len(outer.requests) - 1)
                outer.stopping.wait(step.delay)
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
                    self._drip(b"X-More: yes\r\n", step.drip)
                self.end_headers()
                if step.drip is not None:
                    self._drip(b" ", step.drip)
                self.wfile.write(step.body[: len(step.body) // 2] if step.cut else step.body)
                if step.cut:
                    self.close_connection = True

            def _drip(self, piece, pause):
                while not outer.stopping.is_set():
                    self.wfile.write(piece)
                    self.wfile.flush()
                    time.sleep(pause)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
