"""Allow-list of the Python that a reward function may be written in.

Allowed is one function `reward(previous, current)` that reads two JSON values with `if`, `for`, comparisons, small
arithmetic, comprehensions and a few built-in functions. The only attributes are four methods of mappings, so double
underscores cannot be reached. This file parses code and never runs it.
"""

import ast

MAX_SOURCE = 4_000
MAX_NODES = 300
MAX_DEPTH = 14
MAX_INTEGER = 1_000_000
MAX_STRING = 200
FUNCTION = "reward"
PARAMETERS = ("previous", "current")
FUNCTIONS = frozenset({"len", "any", "all", "sum", "min", "max", "abs", "sorted", "set", "int", "range", "isinstance"})
TYPES = frozenset({"int", "str", "bool", "list", "dict", "set"})
METHODS = frozenset({"get", "items", "values", "keys"})
KEYWORDS = frozenset({"default", "reverse"})

_ALLOWED: tuple[type[ast.AST], ...] = (
    *(ast.arguments, ast.arg, ast.Return, ast.If, ast.For, ast.Break, ast.Continue, ast.Pass, ast.Assign),
    *(ast.AugAssign, ast.Expr, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add),
    *(ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    *(ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Constant, ast.Name, ast.Load, ast.Store, ast.Subscript),
    *(ast.Slice, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp),
    *(ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
)


class UnsafeCodeError(ValueError):
    """A source is refused; the message is a clause that says why and where, and may be sent to the model."""


def check_source(source: str) -> None:
    """Refuse everything outside the allow-list; raises UnsafeCodeError with the first reason found."""
    if len(source) > MAX_SOURCE:
        raise UnsafeCodeError(f"the code is longer than {MAX_SOURCE} characters")
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnsafeCodeError("the code is not valid Python") from None
    function = _only_function(module)
    _check_size(function)
    _, *nodes = ast.walk(function)
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    known = {*PARAMETERS, *FUNCTIONS, *TYPES, *stored}
    for node in nodes:
        _check_node(node, known)


def _only_function(module: ast.Module) -> ast.FunctionDef:
    if len(module.body) != 1 or not isinstance(module.body[0], ast.FunctionDef):
        raise UnsafeCodeError(f"the code must be one function {FUNCTION}({', '.join(PARAMETERS)}) and nothing else")
    function = module.body[0]
    taken = function.args
    names = tuple(argument.arg for argument in taken.args)
    extras = (taken.posonlyargs, taken.kwonlyargs, taken.defaults, taken.vararg, taken.kwarg)
    annotations = [argument.annotation for argument in taken.args]
    if function.name != FUNCTION or names != PARAMETERS or any(extras):
        raise UnsafeCodeError(f"the function must read {FUNCTION}({', '.join(PARAMETERS)})")
    if function.decorator_list or function.returns or any(annotations):
        raise UnsafeCodeError("the function must have neither decorators nor annotations")
    return function


def _check_size(function: ast.FunctionDef) -> None:
    if sum(1 for _ in ast.walk(function)) > MAX_NODES:
        raise UnsafeCodeError(f"the code has more than {MAX_NODES} parts")
    layer: list[ast.AST] = [function]
    for _ in range(MAX_DEPTH):
        layer = [child for node in layer for child in ast.iter_child_nodes(node)]
    if layer:
        raise UnsafeCodeError(f"the code is nested more than {MAX_DEPTH} deep")


def _check_node(node: ast.AST, known: set[str]) -> None:
    if not isinstance(node, _ALLOWED):
        raise UnsafeCodeError(f"{type(node).__name__} is not allowed{_where(node)}")
    if isinstance(node, ast.Name):
        _check_name(node, known)
    elif isinstance(node, ast.Attribute):
        raise_unless(node.attr in METHODS, f"the attribute .{node.attr[:40]} is not allowed", node)
    elif isinstance(node, ast.Constant):
        _check_constant(node)
    elif isinstance(node, ast.Call):
        _check_call(node)
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.comprehension)):
        _check_targets(node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Mod)):
        _check_product(node)
    elif isinstance(node, ast.Expr):
        raise_unless(isinstance(node.value, ast.Constant), "a statement without effect is not allowed", node)


def _check_name(node: ast.Name, known: set[str]) -> None:
    raise_unless(not node.id.startswith("_"), "a name that begins with an underscore is not allowed", node)
    raise_unless(node.id in known, f"the name {node.id[:40]} is not known", node)
    taken = isinstance(node.ctx, ast.Store) and node.id in FUNCTIONS | TYPES | set(PARAMETERS)
    raise_unless(not taken, f"the name {node.id[:40]} must not be redefined", node)


def _check_constant(node: ast.Constant) -> None:
    value = node.value
    if isinstance(value, str):
        raise_unless(len(value) <= MAX_STRING, f"a string is longer than {MAX_STRING} characters", node)
    elif isinstance(value, int):
        raise_unless(value <= MAX_INTEGER, f"a number is larger than {MAX_INTEGER}", node)
    else:
        raise_unless(value is None, f"a constant of type {type(value).__name__} is not allowed", node)


def _check_call(node: ast.Call) -> None:
    if isinstance(node.func, ast.Name):
        raise_unless(node.func.id in FUNCTIONS, f"calling {node.func.id[:40]} is not allowed", node)
    else:
        raise_unless(isinstance(node.func, ast.Attribute), "calling the result of an expression is not allowed", node)
    for keyword in node.keywords:
        raise_unless(keyword.arg in KEYWORDS, f"the argument {str(keyword.arg)[:40]} is not allowed", node)


def _check_targets(node: ast.Assign | ast.AugAssign | ast.For | ast.comprehension) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        raise_unless(all(isinstance(part, ast.Name) for part in parts), "only names can be assigned to", target)
    if isinstance(node, ast.comprehension):
        raise_unless(not node.is_async, "async is not allowed", node.target)


def _check_product(node: ast.BinOp) -> None:
    """Refuse repetition and padding of literal text and lists; through variables the memory limit applies."""
    for side in (node.left, node.right):
        is_text = isinstance(side, ast.Constant) and isinstance(side.value, str)
        repeats = is_text or isinstance(side, (ast.List, ast.Tuple, ast.ListComp))
        raise_unless(not repeats, "* and % are for numbers only", node)


def raise_unless(is_fine: bool, reason: str, node: ast.AST) -> None:
    """Raise UnsafeCodeError with a reason and its line unless the condition holds."""
    if not is_fine:
        raise UnsafeCodeError(f"{reason}{_where(node)}")


def _where(node: ast.AST) -> str:
    line = getattr(node, "lineno", None)
    return "" if line is None else f" (line {line})"
