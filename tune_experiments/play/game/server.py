"""The server of a game with a person: local connections only, a secret address, one player at a time.

Every request must name this server as its Host, a socket must come from this page, by its Origin, and the address holds
a token of 32 random bytes. A player who closes the tab may come back; meanwhile the game waits.
"""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from rl_envs.core.errors import CustomEnvError
from tune_experiments.core.errors import UserError
from tune_experiments.play.game.human_game import HumanGame, RefusedError
from tune_experiments.play.viewer.page import filled

_MAX_REQUEST_BYTES = 16_384
_HEARTBEAT_SECONDS = 20.0
_TEMPLATE = Path(__file__).parent / "game"
OCCUPIED = 4409
"""Close code for a second player while the game is in use."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class GameServer:
    """Serves one game at `port`, which `start` sets; `token` is the secret part of its address."""

    def __init__(self, game: HumanGame) -> None:
        self.game, self.token, self.port = game, secrets.token_urlsafe(32), 0
        self._lock = asyncio.Lock()
        self.player: web.WebSocketResponse | None = None
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> str:
        """URL that a person opens."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    async def start(self, port: int = 0) -> None:
        """Listen on a port; 0 takes any free one."""
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/{token}/", self._page)
        app.router.add_get("/{token}/socket", self._socket)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as error:
            raise UserError(f"port {port} cannot be used ({error.strerror}): choose another with --port") from error
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the connection, save an unfinished episode, and stop listening."""
        if self.player is not None:
            await self.player.close(code=WSCloseCode.GOING_AWAY, message=b"the game has ended")
        if self._runner is not None:
            await self._runner.cleanup()
        async with self._lock:
            try:
                await asyncio.to_thread(self.game.close)
            except RefusedError as refusal:
                raise UserError(str(refusal)) from refusal

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse a request without the token, to another host name or from another page."""
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if request.host not in own:
            raise web.HTTPForbidden(text="This game is served at 127.0.0.1 only.")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in own}:
            raise web.HTTPForbidden(text="Requests from other pages are refused.")
        token = request.match_info.get("token", "")
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise web.HTTPNotFound(text="No game here: open the full address that the command printed.")
        return await handler(request)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        connect = f"connect-src ws://127.0.0.1:{self.port} ws://localhost:{self.port}"
        text = filled(_TEMPLATE, {"occupied": OCCUPIED}, connect)
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
        headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Origin") is None:
            raise web.HTTPForbidden(text="Connections are accepted from this game's page only.")
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_SECONDS, max_msg_size=_MAX_REQUEST_BYTES)
        await socket.prepare(request)
        if self.player is not None:
            await socket.close(code=OCCUPIED, message=b"this game is already open in another tab")
            return socket
        self.player = socket
        try:
            await self._talk(socket)
        finally:
            self.player = None
        return socket

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        """Send the view and handle requests until the tab is closed."""
        await self._show(socket)
        async for message in socket:
            if message.type != WSMsgType.TEXT:
                continue
            try:
                act = _parse_request(message.data)
                async with self._lock:
                    await asyncio.to_thread(act, self.game)
            except (RefusedError, CustomEnvError) as error:
                await _send(socket, {"refused": str(error)})
            await self._show(socket)

    async def _show(self, socket: web.WebSocketResponse) -> None:
        async with self._lock:
            view = await asyncio.to_thread(self.game.view)
        await _send(socket, {"view": view})


async def _send(socket: web.WebSocketResponse, message: Any) -> None:
    """Send a message, unless the tab has just been closed."""
    with contextlib.suppress(ConnectionResetError):
        await socket.send_json(message)


def _parse_request(text: str) -> Callable[[HumanGame], None]:
    """Call on the game that carries out a player's request."""
    try:
        asked: Any = json.loads(text)
        if asked == {"again": True}:
            return HumanGame.new_episode
        action, message = asked["action"], asked.get("message", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RefusedError("The request is not valid.") from error
    if type(action) is not int or type(message) is not str:
        raise RefusedError("The request is not valid.")
    return lambda game: game.act(action, message)


async def serve(game: HumanGame, port: int, print_fn: Callable[[str], None]) -> None:
    """Serve a game until the command is stopped."""
    server = GameServer(game)
    try:
        await server.start(port)
        print_fn(f"open {server.address} in a browser on this machine; press Control-C to end the game")
        await asyncio.Event().wait()
    finally:
        await server.stop()
        for path in game.saved:
            print_fn(f"wrote {path}.html, {path.name}.safetensors and {path.name}.json")
