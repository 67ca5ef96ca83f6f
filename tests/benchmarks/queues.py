"""Queues of one item."""

TRAINING = """
[[items]]
name = "game"
script = "matrix_game"
preset = "smoke"
method = "marginal"
budget_env_steps = 2560
"""


def command(name, code):
    return f"[[items]]\nname = '{name}'\ncommand = '''python -c \"{code}\"'''\n"
