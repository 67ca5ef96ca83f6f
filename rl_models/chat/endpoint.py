"""An endpoint that speaks the OpenAI chat protocol, behind bounds: tries, time, bytes and money.

The `openai` library is imported when an endpoint is built, so nobody else needs it. The body is read here, piece by
piece, because the library would read whatever the server sends for as long as it sends. Words of the server never
enter a reason. This file must not know what is asked, or keep anything.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rl_models.chat.deadline import Deadline
from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome
from rl_models.chat.meter import Meter, OverBudgetError

BASE_URL_VARIABLE, API_KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Where address and key are read from, and from nowhere else."""
_WORTH_ANOTHER_TRY = {408, 409, 425, 429}
_MOST_TOKENS_COUNTED = 10_000_000


class ChatSettingsError(ValueError):
    """An endpoint cannot be used as it is set up; the sentence says how to mend it."""


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """Bounds of a call.

    Address and key are no settings: somebody else's run folder must not choose what is sent as a key, or where to.
    """

    timeout_seconds: float = 60.0
    """Most seconds of one try, from connecting to the last byte, however slowly bytes come."""
    tries: int = 5
    """Number of times one request is sent before it counts as failed."""
    first_pause_seconds: float = 1.0
    """Pause in seconds after the first failed try; it doubles each time, unless the server asks for another."""
    longest_pause_seconds: float = 30.0
    """Longest pause in seconds between two tries."""
    most_body_bytes: int = 1_000_000
    """Most bytes of a reply's body; a longer one counts as a failed try."""


class TryFailedError(Exception):
    """One try brought nothing.

    Attributes:
        is_final: another try would bring nothing either.
        pause_seconds: how long the server asks to wait, if it does.
    """

    def __init__(self, reason: str, is_final: bool = False, pause_seconds: float | None = None) -> None:
        """Keep the reason as the exception's text."""
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
        """Try until a body of the protocol's form has come, the tries are used up or trying is of no use."""
        reason = "no try is allowed"
        for number in range(self._settings.tries):
            try:
                return self._try_once(request)
            except OverBudgetError as refusal:
                return ChatFailure(str(refusal))
            except TryFailedError as failed:
                self._meter.count_failed_call()
                reason = str(failed)
                if failed.is_final:
                    break
                if number + 1 < self._settings.tries:
                    self._sleep(self._pause(number, failed.pause_seconds))
        return ChatFailure(reason)

    def _try_once(self, request: ChatRequest) -> ChatReply:
        self._meter.admit()
        reply = _read_completion(self._fetch(request))
        self._meter.count_tokens(reply.prompt_tokens, reply.completion_tokens)
        return reply

    def _fetch(self, request: ChatRequest) -> bytes:
        with Deadline(self._settings.timeout_seconds) as deadline:
            self._here.deadline = deadline
            try:
                return self._send(request)
            except TryFailedError:
                if deadline.is_over:
                    raise TryFailedError("the answer did not end in time") from None
                raise

    def _watch(self, request: Any) -> None:
        """Tell this thread's deadline which connection its request takes."""
        request.extensions["trace"] = self._here.deadline.trace

    def _send(self, request: ChatRequest) -> bytes:
        import openai

        try:
            create = self._client.chat.completions.with_streaming_response.create
            with create(**_arguments(request)) as response:
                return self._read_body(response.iter_bytes())
        except openai.APITimeoutError:
            raise TryFailedError("no answer came in time") from None
        except openai.APIStatusError as error:
            raise _refused(error.status_code, error.response.headers.get("retry-after")) from None
        except openai.APIConnectionError:
            raise TryFailedError("the endpoint cannot be reached or broke the connection") from None
        except TryFailedError:
            raise
        except Exception as error:
            # A body that stops short raises an error of the HTTP library underneath, whichever that is.
            raise TryFailedError(f"the answer broke off ({type(error).__name__})") from None

    def _read_body(self, pieces: Iterable[bytes]) -> bytes:
        body = bytearray()
        for piece in pieces:
            body += piece
            if len(body) > self._settings.most_body_bytes:
                raise TryFailedError(f"the answer is longer than {self._settings.most_body_bytes} bytes", is_final=True)
        return bytes(body)

    def _pause(self, number: int, wanted: float | None) -> float:
        pause = self._settings.first_pause_seconds * 2**number if wanted is None else wanted
        return min(max(pause, 0.0), self._settings.longest_pause_seconds)


def _open_client(settings: EndpointSettings, watch: Callable[[Any], None]) -> Any:
    try:
        import openai
    except ImportError:
        raise ChatSettingsError(
            "an endpoint needs the package `openai`: pip install 'concord-marl[planner]', or choose another backend"
        ) from None
    key = os.environ.get(API_KEY_VARIABLE)
    if not key:
        raise ChatSettingsError(
            f"an endpoint needs its key in the environment: set {API_KEY_VARIABLE} (any word for a server "
            "that asks for none), or choose another backend"
        )
    if not (key.isascii() and key.isprintable()):
        raise ChatSettingsError(f"{API_KEY_VARIABLE} holds signs that cannot be sent: set it to the key and no more")
    # Error bodies are closed unread, and nobody is sent elsewhere: both would leave the bounds of this file. No
    # connection is used twice, so each try sees its own being opened and can shut it.
    http = openai.DefaultHttpxClient(
        follow_redirects=False,
        event_hooks={"request": [watch], "response": [_close_what_is_no_answer]},
    )
    return openai.OpenAI(
        api_key=key,
        base_url=os.environ.get(BASE_URL_VARIABLE) or None,
        timeout=settings.timeout_seconds,
        max_retries=0,
        http_client=http,
        default_headers={"Accept-Encoding": "identity", "Connection": "close"},
    )


def _close_what_is_no_answer(response: Any) -> None:
    if response.status_code != 200:
        response.close()


def _arguments(request: ChatRequest) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.most_tokens,
    }
    if request.seed is not None:
        arguments["seed"] = request.seed
    if request.is_json:
        arguments["response_format"] = {"type": "json_object"}
    return arguments


def _refused(status: int, retry_after: str | None) -> TryFailedError:
    if status in (401, 403):
        return TryFailedError(f"the endpoint refused the key (status {status})", is_final=True)
    can_pass = status in _WORTH_ANOTHER_TRY or status >= 500
    return TryFailedError(f"the endpoint answered with status {status}", not can_pass, _seconds(retry_after))


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _read_completion(body: bytes) -> ChatReply:
    """The reply in a body of the chat protocol; anything else is worth another try."""
    try:
        document = json.loads(body.decode("utf-8"))
        text = document["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise TryFailedError("the answer is not JSON") from None
    except (KeyError, IndexError, TypeError):
        raise TryFailedError("the answer holds no message") from None
    if not isinstance(text, str):
        raise TryFailedError("the answer holds no text")
    usage = document.get("usage")
    # Half a surrogate pair can be written as JSON but never be sent again.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return ChatReply(text, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))


def _tokens(usage: Any, name: str) -> int:
    number = usage.get(name) if isinstance(usage, dict) else None
    return min(number, _MOST_TOKENS_COUNTED) if type(number) is int and number > 0 else 0
