"""An endpoint of the OpenAI chat protocol, with limits of attempts, time, bytes and cost.

The `openai` library is imported when an endpoint is built, so other code does not need it. The body is read here in
pieces, because the library would read everything that a server sends. Text from the server never enters a reason. This
file must not know what is asked, and it stores nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock, Timer
from types import TracebackType
from typing import Any

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome
from rl_models.chat.meter import Meter, OverBudgetError
from rl_models.errors import InputError

BASE_URL_VARIABLE, API_KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Environment variables of address and key; there is no other way to set them."""
_TEMPORARY_STATUS = {408, 409, 425, 429}
_MAX_TOKENS_COUNTED = 10_000_000


class ChatSettingsError(InputError):
    """An endpoint cannot be used with its settings; the message says what helps."""


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """Limits of a request.

    Address and key are no settings, because the run folder of another user must not choose where a key is sent.
    """

    timeout_seconds: float = 60.0
    """Longest time of one attempt in seconds, from connecting to the last byte."""
    max_attempts: int = 5
    """Number of attempts to send one request before it counts as failed."""
    first_pause_seconds: float = 1.0
    """Pause in seconds after the first failed attempt; it doubles each time, unless the server asks for another."""
    max_pause_seconds: float = 30.0
    """Longest pause in seconds between two attempts."""
    max_body_bytes: int = 1_000_000
    """Largest size of a reply's body in bytes; a larger one counts as a failed attempt."""


class AttemptFailedError(Exception):
    """One attempt brought no reply.

    Attributes:
        is_final: another attempt would fail too.
        pause_seconds: pause in seconds that the server asks for; None if it asks for none.
    """

    def __init__(self, reason: str, is_final: bool = False, pause_seconds: float | None = None) -> None:
        """Use the reason as the message."""
        super().__init__(reason)
        self.is_final, self.pause_seconds = is_final, pause_seconds


class Endpoint:
    """A `Transport` over HTTP."""

    def __init__(self, settings: EndpointSettings, meter: Meter, sleep: Callable[[float], None] = time.sleep) -> None:
        """Read address and key from the environment and build the client.

        Raises:
            ChatSettingsError: the library or the key is missing.
        """
        self._settings, self._meter, self._sleep = settings, meter, sleep
        self._here = threading.local()
        self._client = _open_client(settings, self._watch)

    def complete(self, request: ChatRequest) -> Outcome:
        """Send the request until a valid reply comes, the attempts are used up, or another attempt is useless."""
        reason = "no attempt is allowed"
        for number in range(self._settings.max_attempts):
            try:
                return self._attempt(request)
            except OverBudgetError as refusal:
                return ChatFailure(str(refusal))
            except AttemptFailedError as failed:
                self._meter.count_failed_call()
                reason = str(failed)
                if failed.is_final:
                    break
                if number + 1 < self._settings.max_attempts:
                    self._sleep(self._pause(number, failed.pause_seconds))
        return ChatFailure(reason)

    def _attempt(self, request: ChatRequest) -> ChatReply:
        self._meter.admit()
        reply = _read_completion(self._fetch(request))
        self._meter.count_tokens(reply.prompt_tokens, reply.completion_tokens)
        return reply

    def _fetch(self, request: ChatRequest) -> bytes:
        with Deadline(self._settings.timeout_seconds) as deadline:
            self._here.deadline = deadline
            try:
                return self._send(request)
            except AttemptFailedError:
                if deadline.is_over:
                    raise AttemptFailedError("the answer did not end in time") from None
                raise

    def _watch(self, request: Any) -> None:
        """Let this thread's deadline trace the connections of the request."""
        request.extensions["trace"] = self._here.deadline.trace

    def _send(self, request: ChatRequest) -> bytes:
        import openai

        try:
            create = self._client.chat.completions.with_streaming_response.create
            with create(**_arguments(request)) as response:
                return self._read_body(response.iter_bytes())
        except openai.APITimeoutError:
            raise AttemptFailedError("no answer came in time") from None
        except openai.APIStatusError as error:
            raise _refused(error.status_code, error.response.headers.get("retry-after")) from None
        except openai.APIConnectionError:
            raise AttemptFailedError("the endpoint cannot be reached or broke the connection") from None
        except AttemptFailedError:
            raise
        except Exception as error:
            # An incomplete body raises an error of the HTTP library that `openai` uses, which may be any.
            raise AttemptFailedError(f"the answer broke off ({type(error).__name__})") from None

    def _read_body(self, pieces: Iterable[bytes]) -> bytes:
        body = bytearray()
        for piece in pieces:
            body += piece
            if len(body) > self._settings.max_body_bytes:
                raise AttemptFailedError(
                    f"the answer is longer than {self._settings.max_body_bytes} bytes", is_final=True
                )
        return bytes(body)

    def _pause(self, number: int, wanted: float | None) -> float:
        pause = self._settings.first_pause_seconds * 2**number if wanted is None else wanted
        return min(max(pause, 0.0), self._settings.max_pause_seconds)


def _open_client(settings: EndpointSettings, watch: Callable[[Any], None]) -> Any:
    try:
        import openai
    except ImportError:
        raise ChatSettingsError(
            "an endpoint needs the package `openai`: in the checkout, pip install -e '.[planner]', or choose another "
            "backend"
        ) from None
    key = os.environ.get(API_KEY_VARIABLE)
    if not key:
        raise ChatSettingsError(
            f"an endpoint needs its key in the environment: set {API_KEY_VARIABLE} (any word for a server "
            "that asks for none), or choose another backend"
        )
    if not (key.isascii() and key.isprintable()):
        raise ChatSettingsError(f"{API_KEY_VARIABLE} holds characters that cannot be sent: set it to the key only")
    # Bodies of errors are closed unread and redirects are not followed, because both would escape the limits of this
    # file. No connection is used twice, so each attempt opens its own connections and can shut them down.
    http = openai.DefaultHttpxClient(
        follow_redirects=False,
        event_hooks={"request": [watch], "response": [_close_error]},
    )
    return openai.OpenAI(
        api_key=key,
        base_url=os.environ.get(BASE_URL_VARIABLE) or None,
        timeout=settings.timeout_seconds,
        max_retries=0,
        http_client=http,
        default_headers={"Accept-Encoding": "identity", "Connection": "close"},
    )


def _close_error(response: Any) -> None:
    if response.status_code != 200:
        response.close()


def _arguments(request: ChatRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.seed is not None:
        arguments["seed"] = request.seed
    if request.is_json:
        arguments["response_format"] = {"type": "json_object"}
    return arguments


def _refused(status: int, retry_after: str | None) -> AttemptFailedError:
    if status in (401, 403):
        return AttemptFailedError(f"the endpoint refused the key (status {status})", is_final=True)
    can_pass = status in _TEMPORARY_STATUS or status >= 500
    return AttemptFailedError(f"the endpoint answered with status {status}", not can_pass, _seconds(retry_after))


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _read_completion(body: bytes) -> ChatReply:
    """The reply in a body of the chat protocol; any other body fails the attempt."""
    try:
        document = json.loads(body.decode("utf-8"))
        text = document["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise AttemptFailedError("the answer is not JSON") from None
    except (KeyError, IndexError, TypeError):
        raise AttemptFailedError("the answer holds no message") from None
    if not isinstance(text, str):
        raise AttemptFailedError("the answer holds no text")
    usage = document.get("usage")
    # Half a surrogate pair can be read from JSON, but it cannot be sent again.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return ChatReply(text, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))


def _tokens(usage: Any, name: str) -> int:
    number = usage.get(name) if isinstance(usage, dict) else None
    return min(number, _MAX_TOKENS_COUNTED) if type(number) is int and number > 0 else 0


class Deadline:
    """A context around one attempt that shuts down its connections after some time, whatever the server sends.

    The time-outs of an HTTP library start again with each byte. A server that sends its headers slowly could hold a
    call for any time. Shutting down a socket wakes the thread that waits for it.
    """

    def __init__(self, seconds: float) -> None:
        """Set the time; it starts when the context is entered."""
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = Lock()
        self._sockets: list[socket.socket] = []
        self.is_over = False

    def __enter__(self) -> Deadline:
        """Start the timer."""
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop the timer, because the attempt has ended."""
        self._timer.cancel()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember a new connection; this is a callback for the extension `trace` of httpcore requests."""
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
            with contextlib.suppress(OSError):  # the server has closed it already
                # The method of the TLS class would remove the cipher while another thread reads.
                socket.socket.shutdown(one, socket.SHUT_RDWR)
