"""The terminal that commands and runs print to."""

from rich.console import Console


class Terminal(Console):
    """A console for plain text: no line wrapping, no markup or emoji codes in names, no coloured numbers.

    A broken pipe is left to `exits_with_one_sentence`.
    """

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Raise the error, which rich would turn into exit code 1."""
        raise BrokenPipeError
