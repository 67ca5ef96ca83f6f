"""A broken rule is one AssertionError with one sentence."""


def require(holds: object, sentence: str) -> None:
    """Raise `AssertionError(sentence)` unless the rule holds (also under `python -O`, unlike an assert)."""
    if not holds:
        raise AssertionError(sentence)
