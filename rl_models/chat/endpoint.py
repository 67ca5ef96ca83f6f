"""An endpoint of the OpenAI chat protocol: the client of `openai` with a limit of bytes and a deadline.

`openai` is imported when an endpoint is built, so other code does not need it. Text from the server never enters a
reason.
"""

import asyncio
import hashlib
import json
import os
import threading
from asyncio import timeout
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Any

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome
from rl_models.chat.meter import Meter, OverBudgetError
from rl_models.errors import InputError

BASE_URL_VARIABLE, API_KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Environment variables of address and key; there is no other way to set them."""
_MAX_TOKENS_COUNTED = 10_000_000


class ChatSettingsError(InputError):
    """An endpoint cannot be used with its settings; the message says how to fix it."""


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """Limits of a request.

    Address and key are no settings, because the run folder of another user must not choose where a key is sent.
    """

    timeout_seconds: float = 60.0
    """Longest wait in seconds for a connection or for further bytes."""
    deadline_seconds: float = 300.0
    """Longest time of a request in seconds, with all attempts, pauses and waits for the rate limit."""
    max_attempts: int = 5
    """Number of attempts to send one request before it counts as failed."""
    max_body_bytes: int = 1_000_000
    """Largest size of a reply's body in bytes; a larger one fails the request."""


class _UnusableBodyError(Exception):
    """A body holds no reply."""


class _TooLongError(Exception):
    """A body exceeds its size limit; the request is not repeated."""


class Endpoint:
    """A `Transport` over HTTP; its requests run in an event loop of its own."""

    def __init__(self, settings: EndpointSettings, meter: Meter) -> None:
        """Read address and key from the environment; raises ChatSettingsError where library or key is missing."""
        self._settings, self._meter = settings, meter
        self._client = _open_client(settings, {"request": [self._admit], "response": [_close_error]})
        url = self._client.base_url.copy_with(userinfo=b"", query=None)  # both may hold credentials
        self.address = hashlib.sha256(str(url).encode()).hexdigest()
        """SHA-256 of the server's address."""
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="chat endpoint", daemon=True).start()

    def complete(self, request: ChatRequest) -> Outcome:
        """Send the request until a valid reply comes, the limits are reached, or another attempt is useless."""
        return asyncio.run_coroutine_threadsafe(self._complete(request), self._loop).result()

    async def _complete(self, request: ChatRequest) -> Outcome:
        reason = "no attempt is allowed"
        try:
            async with timeout(self._settings.deadline_seconds):
                left = self._settings.max_attempts
                while left > 0:
                    outcome, attempts = await self._ask(request, left - 1)
                    if isinstance(outcome, ChatReply):
                        self._meter.count_tokens(outcome.prompt_tokens, outcome.completion_tokens)
                        return outcome
                    self._meter.count_failed_call()
                    reason, left = outcome.reason, left - attempts
        except OverBudgetError as refusal:
            reason = str(refusal)
        except Exception as error:
            self._meter.count_failed_call()
            reason = _describe(error)
        return ChatFailure(reason)

    async def _ask(self, request: ChatRequest, max_retries: int) -> tuple[Outcome, int]:
        """A reply or why its body is unusable, and the attempts so far; `openai` repeats those without an answer."""
        client = self._client.with_options(max_retries=max_retries)
        async with client.chat.completions.with_streaming_response.create(**_arguments(request)) as response:
            attempts = response.retries_taken + 1
            try:
                body = await _read(response.iter_bytes(), self._settings.max_body_bytes)
                return _read_completion(body), attempts
            except _TooLongError as fault:
                return ChatFailure(str(fault)), max_retries + 1
            except _UnusableBodyError as fault:
                return ChatFailure(str(fault)), attempts

    async def _admit(self, request: Any) -> None:
        """Count an attempt (the previous one has failed), and wait for the rate limit."""
        if request.headers.get("x-stainless-retry-count", "0") != "0":
            self._meter.count_failed_call()
        await asyncio.to_thread(self._meter.admit)


def _open_client(settings: EndpointSettings, hooks: dict[str, Any]) -> Any:
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
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=os.environ.get(BASE_URL_VARIABLE) or None,
        timeout=settings.timeout_seconds,
        # A redirect could lead the key elsewhere.
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks=hooks),
        default_headers={"Accept-Encoding": "identity"},
    )


async def _close_error(response: Any) -> None:
    """Leave the bodies of errors unread, because `openai` reads them without a limit."""
    if response.status_code != 200:
        await response.aclose()


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


def _describe(error: Exception) -> str:
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return "the answer did not end in time"
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return f"the endpoint refused the key (status {error.status_code})"
    if isinstance(error, openai.APIStatusError):
        return f"the endpoint answered with status {error.status_code}"
    if isinstance(error, openai.APIConnectionError):
        return "the endpoint cannot be reached or broke the connection"
    return f"the request failed ({type(error).__name__})"


async def _read(pieces: AsyncIterable[bytes], limit: int) -> bytes:
    body = bytearray()
    try:
        async for piece in pieces:
            body += piece
            if len(body) > limit:
                break
    except Exception as error:  # any error of the HTTP library behind `openai`
        raise _UnusableBodyError(f"the answer broke off ({type(error).__name__})") from None
    if len(body) > limit:
        raise _TooLongError(f"the answer is longer than {limit} bytes")
    return bytes(body)


def _read_completion(body: bytes) -> ChatReply:
    """The reply in a body of the chat protocol."""
    try:
        document = json.loads(body.decode("utf-8"))
        text = document["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise _UnusableBodyError("the answer is not JSON") from None
    except (KeyError, IndexError, TypeError):
        raise _UnusableBodyError("the answer holds no message") from None
    if not isinstance(text, str):
        raise _UnusableBodyError("the answer holds no text")
    usage = document.get("usage")
    # Half a surrogate pair can be read from JSON, but it cannot be sent again.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return ChatReply(text, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))


def _tokens(usage: Any, name: str) -> int:
    number = usage.get(name) if isinstance(usage, dict) else None
    return min(number, _MAX_TOKENS_COUNTED) if type(number) is int and number > 0 else 0
