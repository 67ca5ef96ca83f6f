"""Description of a world: the second paragraph of its module's docstring, between the title and the table."""

import sys


def module_story(module: str) -> str:
    """The second paragraph of a module's docstring in one line, for `World.story`; empty without one."""
    paragraphs = (sys.modules[module].__doc__ or "").split("\n\n")
    return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
