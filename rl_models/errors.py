"""Errors in a user's input, whose message a caller prints without a traceback."""


class InputError(ValueError):
    """An unusable input; the message says in one sentence what, where and how to fix it."""


def first_line(error: BaseException) -> str:
    """First line of an error's message, at most 200 characters; the name of its type if the message is empty."""
    return (str(error).strip().splitlines() or [""])[0].rstrip(".")[:200] or type(error).__name__
