"""The planner's backend without a language model: rules of the domain, answered as text like any model's reply.

So prompts, forms, checks, record and transcript are the same with and without a model.
"""

from rl_models.chat.exchange import ChatFailure, ChatReply, ChatRequest, Outcome

MODEL = "offline"


class OfflineBackend:
    """A `Transport` that answers by the rule in a request's context (`calling.Call.rule`)."""

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request, the same way each time."""
        if request.context is None:
            return ChatFailure("rules cannot answer a question without its context")
        return ChatReply(request.context().model_dump_json())
