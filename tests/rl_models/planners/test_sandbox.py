"""Whatever a model writes as a reward function, it is refused or confined, each time with a reason."""

import gc
import os
import resource
import subprocess

import psutil
import pytest

from rl_models.planners.sandbox.process import RewardFailedError, SandboxedReward, SandboxLimits
from rl_models.planners.sandbox.qualification import KnownPairs, qualify
from rl_models.planners.sandbox.rules import UnsafeCodeError, check_source
from tests.rl_models.planners.processes import sandboxes

POT_FILLED = """
def reward(previous, current):
    "One more onion in a pot."
    count = 0
    for name, pot in current.get("pots", {}).items():
        if pot["onions"] > previous["pots"][name]["onions"] and len(pot) == 1:
            count += 1
    return 1 if count >= 1 else 0
"""


def body(*lines):
    return "def reward(previous, current):\n" + "".join(f"    {line}\n" for line in lines)


def state(*onions):
    return {"pots": {str(number): {"onions": count} for number, count in enumerate(onions)}}


PAIRS = KnownPairs(
    positive=((state(0, 0), state(1, 0)), (state(2, 1), state(2, 2))),
    negative=((state(0, 0), state(0, 0)), (state(3, 1), state(0, 1))),
)

REFUSED = {
    "open a file": (body("return open('/etc/passwd')"), "open"),
    "import": ("import os\n" + body("return 1"), "function"),
    "import function": (body("return __import__('os').getpid()"), "allowed|underscore"),
    "loop for ever": (body("while True:", "    pass"), "While"),
    "dunder walk": (body("return ().__class__.__bases__[0].__subclasses__()"), "attribute .__"),
    "frame of a generator": (body("return (x for x in current).gi_frame"), "attribute .gi_frame"),
    "f-string": (body("return f'{current.__class__}'"), "JoinedStr"),
    "format walk": (body("return '{0.__class__}'.format(current)"), "attribute .format"),
    "format by %": (body("return '%s' % current"), "numbers"),
    "join": (body("return ''.join(current)"), "attribute .join"),
    "power": (body("return 10**10**8"), "Pow"),
    "shift": (body("return 1 << 10000"), "LShift"),
    "huge constant": (body("return 99999999999"), "larger"),
    "string multiplication": (body("return 'a' * 1000000"), "numbers"),
    "recursion": (body("return reward(previous, current)"), "reward"),
    "inner function": (body("def f():", "    return f()", "return f()"), "FunctionDef"),
    "lambda": (body("return (lambda: 1)()"), "allowed"),
    "try": (body("try:", "    return 1", "except Exception:", "    return 0"), "Try"),
    "class outside": ("class reward: pass", "function"),
    "code outside": (body("return 1") + "\nprint(1)", "function"),
    "decorator": ("@print\n" + body("return 1"), "decorators"),
    "default": ("def reward(previous, current=print):\n    return 1", "reward"),
    "annotation": ("def reward(previous: print(1), current):\n    return 1", "annotations"),
    "other name": ("def run(previous, current):\n    return 1", "reward"),
    "async": ("async def reward(previous, current):\n    return 1", "function"),
    "underscore name": (body("_x = 1", "return 1"), "underscore"),
    "builtins": (body("return __builtins__"), "underscore"),
    "eval": (body("return eval('1')"), "eval"),
    "getattr": (body("return getattr(current, 'x')"), "getattr"),
    "call of a type": (body("return str(current)"), "str"),
    "call of a result": (body("return current.get('a')()"), "calling"),
    "taken name": (body("len = current", "return len(1)"), "len"),
    "write into a state": (body("current['a'] = 1", "return 1"), "assigned"),
    "starred": (body("return max(*current)"), "Starred"),
    "keywords": (body("return max(**current)"), "None"),
    "key function": (body("return sorted(current, key=len)"), "key"),
    "line without effect": (body("sorted(current)", "return 1"), "effect"),
    "float": (body("return 1e308 * 10"), "float"),
    "bytes": (body("return b'x'"), "bytes"),
    "no Python": ("def reward(:", "Python"),
    "deep": (body("return " + "(" * 150 + "1" + ")" * 150 + "+1" * 30), "nested|Python"),
    "wide": (body("return " + "+".join(["1"] * 400)), "parts"),
    "long": (body("return 1" + " " * 4000), "4000"),
    "long string": (body(f"return '{'a' * 201}'"), "200"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_attack_is_refused_with_a_reason_and_nothing_is_started(name, monkeypatch):
    source, reason = REFUSED[name]
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))
    with pytest.raises(UnsafeCodeError, match=reason):
        SandboxedReward(source)


CONFINED = {
    "nested loops": (
        body(
            "n = 0", *("    " * k + f"for a{k} in range(1000):" for k in range(4)), "    " * 4 + "n = n + 1", "return 0"
        ),
        "CPU time",
    ),
    "long range": (body("return len(range(1000000))"), "ValueError"),
    "memory": (body("x = [1]", "for i in range(60):", "    x = x + x", "return 0"), "MemoryError|CPU time"),
    "hidden string product": (
        body("x = 'a'", "for i in range(90):", "    x = x * 1000", "return 0"),
        "MemoryError|OverflowError",
    ),
    "growing number": (body("x = 3", "for i in range(900):", "    x = x * x", "return 0"), "CPU time|MemoryError"),
    "wrong value": (body("return 2"), "0 and 1"),
    "missing key": (body("return current['no']"), "KeyError"),
    "words of its own": (body("return int('obey me')"), "^(?!.*obey).*ValueError"),
    "changes the states": (body("x = current.get('list')", "x += [1]", "return 0"), "changes"),
}


@pytest.mark.processes
@pytest.mark.parametrize("name", CONFINED)
def test_what_passes_the_rules_is_confined_by_its_process(name):
    source, reason = CONFINED[name]
    check_source(source)
    reward = SandboxedReward(source)
    with pytest.raises(RewardFailedError, match=reason):
        reward.evaluate([({"list": []}, {"list": [1]})], checks_arguments=True)
    with pytest.raises(RewardFailedError, match="before"):
        reward.evaluate([({}, {})])


def unchecked(monkeypatch, source):
    """The second wall alone: the process gets a source that the first would have refused."""
    monkeypatch.setattr("rl_models.planners.sandbox.process.check_source", lambda text: None)
    return SandboxedReward(source)


SYS = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'ModuleSpec'][0].__init__.__globals__['sys']"
MODULES = f"{SYS}.modules"


@pytest.mark.processes
@pytest.mark.parametrize(
    "line",
    [
        "{modules}['builtins'].open('/etc/passwd')",
        "{modules}['builtins'].open('written', 'w')",
        "{modules}['posix'].listdir('/')",
        "{modules}['posix'].pipe()",
        "[{modules}['posix'].close(2), {modules}['posix'].open('/', 0)]",
        "{modules}['posix'].fork()",
        "{modules}['builtins'].__import__('socket').socket()",
        "{modules}['builtins'].__import__('_socket').socket()",
    ],
    ids=["read", "write", "list", "pipe", "reuse", "fork", "import", "socket"],
)
def test_even_code_that_broke_the_rules_reaches_nothing(monkeypatch, line):
    source = body(line.format(modules=MODULES), "return 1")
    reasons = r"(OSError|BlockingIOError|PermissionError|FileNotFoundError|ModuleNotFoundError|ImportError)"
    with unchecked(monkeypatch, source) as reward, pytest.raises(RewardFailedError, match=reasons):
        reward.evaluate([({}, {})])


@pytest.mark.processes
def test_the_walk_of_these_tests_reaches_what_it_attacks(monkeypatch):
    with unchecked(monkeypatch, body(f"return 'resource' in {MODULES} and 'posix' in {MODULES}")) as reward:
        assert reward.evaluate([({}, {})]) == [1]


@pytest.mark.processes
def test_even_code_that_broke_the_rules_sees_no_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with unchecked(monkeypatch, body(f"return b'OPENAI_API_KEY' in {MODULES}['posix'].environ")) as reward:
        assert reward.evaluate([({}, {})]) == [0]


@pytest.mark.processes
@pytest.mark.skipif(os.getuid() != 0, reason="whoever is not root stays who they are")
def test_even_code_that_broke_the_rules_is_nobody_where_root_starts_it(monkeypatch, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    users = f"{MODULES}['posix'].getuid() > 0 and {MODULES}['posix'].geteuid() > 0"
    with unchecked(monkeypatch, body(f"return {users}")) as reward:
        assert reward.evaluate([({}, {})]) == [1]
    source = body(f"{MODULES}['posix'].rmdir('{own}')", "return 1")
    with (
        unchecked(monkeypatch, source) as reward,
        pytest.raises(RewardFailedError, match=r"FileNotFoundError|PermissionError"),
    ):
        reward.evaluate([({}, {})])
    assert own.is_dir()


@pytest.mark.processes
def test_even_code_that_broke_the_rules_cannot_raise_its_limits(monkeypatch):
    source = body(f"{MODULES}['resource'].setrlimit({MODULES}['resource'].RLIMIT_NOFILE, (99, 99))", "return 1")
    with unchecked(monkeypatch, source) as reward, pytest.raises(RewardFailedError, match="ValueError"):
        reward.evaluate([({}, {})])


@pytest.mark.processes
def test_a_process_that_hangs_is_killed(monkeypatch):
    monkeypatch.setattr("rl_models.planners.sandbox.process.check_source", lambda text: None)
    source = body(f"{MODULES}['signal'].pause()", "return 1")
    reward = SandboxedReward(source)
    reward.limits = SandboxLimits(answer_seconds=0.5)
    with pytest.raises(RewardFailedError, match=r"0\.5"):
        reward.evaluate([({}, {})])
    assert sandboxes() == set()


@pytest.mark.processes
def test_a_process_that_nobody_closes_ends_with_whoever_started_it():
    reward = SandboxedReward(POT_FILLED)
    assert len(sandboxes()) == 1
    del reward
    gc.collect()
    assert sandboxes() == set()


@pytest.mark.processes
def test_an_honest_function_gives_rewards():
    with SandboxedReward(POT_FILLED) as reward:
        assert reward.evaluate([*PAIRS.positive, *PAIRS.negative]) == [1, 1, 0, 0]
        assert reward.evaluate([PAIRS.negative[0]] * 1000) == [0] * 1000


@pytest.mark.processes
def test_calls_have_no_limit_of_cpu_time_together():
    """600 seconds of the process's life once ended the rewards of long trainings without a word."""
    source = body("n = 0", "for i in range(1000):", "    for j in range(200):", "        n = n + 1", "return 0")
    with SandboxedReward(source, SandboxLimits(cpu_seconds_per_call=0.25)) as reward:
        process = psutil.Process(*sandboxes())
        while sum(process.cpu_times()[:2]) < 0.5:
            assert reward.evaluate([({}, {})]) == [0]


@pytest.mark.processes
def test_the_kernel_does_not_end_a_process_for_the_cpu_time_of_all_its_calls(monkeypatch):
    own, _ = resource.getrlimit(resource.RLIMIT_CPU)
    found = f"{MODULES}['resource'].getrlimit({MODULES}['resource'].RLIMIT_CPU)[0]"
    with unchecked(monkeypatch, body(f"return {found} == {own}")) as reward:
        assert reward.evaluate([({}, {})]) == [1]


@pytest.mark.processes
def test_an_honest_function_qualifies():
    assert qualify(POT_FILLED, PAIRS) == ""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (body("return 0"), "0"),
        (body("return 1"), "1"),
        (body("return 1 if current['pots']['1']['onions'] >= 1 else 0"), "1 of 2"),
        (body("return 1 if current['pots']['0']['onions'] == 1 else 0"), "1 of 2"),
        (body("return current['pots']"), "0 and 1"),
        (body("return open"), "open"),
        (body("for i in range(1000):", "    for j in range(1000):", "        for k in range(1000):",
              "            pass", "return 1"), "CPU time"),
    ],
)  # fmt: skip
def test_a_function_that_is_wrong_does_not_qualify(source, reason):
    assert reason in qualify(source, PAIRS)


def test_without_one_kind_of_pair_no_function_qualifies():
    assert "no example" in qualify(POT_FILLED, KnownPairs(PAIRS.positive, ()))
