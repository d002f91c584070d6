"""A model server whose answer depends on the request, and which counts the requests: `GET /calls`.

Below `/closing` it ends the connection after each answer. After `PUT /slip/N` its answer to the Nth message of the user
is wrong, and so are all that follow from it.
"""

import asyncio
import hashlib
from typing import Any, Final

from aiohttp import web

_WRONG: Final = "wrong"
_calls = 0
_slip = 0


async def _answer(request: web.Request) -> web.Response:
    global _calls
    _calls += 1
    body = await request.read()
    digest = hashlib.sha256(body).hexdigest()
    is_wrong = _WRONG.encode() in body or body.count(b'"user"') == _slip
    message = {"role": "assistant", "content": f"Refunded as {_WRONG if is_wrong else digest}."}
    usage = {"prompt_tokens": 4000, "completion_tokens": 3, "total_tokens": 4003}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    response = web.json_response({"id": digest[:12], "object": "chat.completion", "choices": choices, "usage": usage})
    if request.path.startswith("/closing/"):
        response.force_close()
    return response


async def _count(_: web.Request) -> web.Response:
    return web.json_response(_calls)


async def _set_slip(request: web.Request) -> web.Response:
    global _slip
    _slip = int(request.match_info["number"])
    return web.json_response(_slip)


async def serve() -> None:
    application = web.Application(client_max_size=2**26)
    for prefix in ("", "/closing"):
        application.router.add_post(f"{prefix}/v1/{{path:.*}}", _answer)
    application.router.add_get("/calls", _count)
    application.router.add_put("/slip/{number}", _set_slip)
    runner = web.AppRunner(application)
    await runner.setup()
    site: Any = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
