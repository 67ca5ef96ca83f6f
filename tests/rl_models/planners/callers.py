"""Callers of a planner's model, and a model whose replies a test writes."""

import json

from rl_models.chat.client import ChatClient
from rl_models.chat.exchange import ChatReply
from rl_models.planners.calling import Caller
from rl_models.planners.offline import OfflineBackend


class Model:
    """A transport that gives each stage its replies in turn, the last one for ever; without any, the rules answer."""

    def __init__(self, **replies):
        self.replies, self.asked, self.rules = replies, [], OfflineBackend()

    def complete(self, request):
        self.asked.append(request)
        left = self.replies.get(request.stage)
        if left is None:
            return self.rules.complete(request)
        reply = left.pop(0) if len(left) > 1 else left[0]
        return ChatReply(reply if isinstance(reply, str) else json.dumps(reply))

    def of(self, stage):
        return [request for request in self.asked if request.stage == stage]


def caller(transport=None, transcript=None):
    """Asks a transport, or the rules, one question after the other."""
    return Caller(ChatClient(transport or OfflineBackend(), concurrency=1), "m", transcript)
