"""Counter-based chance: of the published generator, the same everywhere, and never silently changed."""

import numpy as np
import pytest

from rl_envs.core.array_library import get_array_library
from rl_envs.core.chance import POLICY_DRAWS, Chance, mix, world_keys


def test_a_draw_does_not_depend_on_how_many_are_asked_for_or_when():
    chance = Chance(2, 0, 6)
    chance.step[:] = 3
    all_at_once = chance.uniforms(10)
    np.testing.assert_array_equal(chance.uniforms(4, first_draw=6), all_at_once[:, 6:])
    np.testing.assert_array_equal(chance.uniforms(10, rows=np.array([4, 1])), all_at_once[[4, 1]])


def test_policy_draws_are_not_the_worlds_draws():
    chance = Chance(2, 0, 1)
    worlds, policies = chance.uniforms(1000)[0], chance.policy_uniforms(1000)[0]
    assert not set(worlds) & set(policies)
    np.testing.assert_array_equal(policies, chance.uniforms(1000, first_draw=POLICY_DRAWS)[0])
    np.testing.assert_array_equal(chance.policy_uniforms(400, first_draw=600)[0], policies[600:])


def test_mix_is_the_published_splitmix64():
    """First outputs of SplitMix64 from seed 0: the finaliser of multiples of the golden gamma."""
    with np.errstate(over="ignore"):
        states = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix(states).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_torch_draws_the_same_to_the_bit():
    ours, theirs = Chance(9, 3, 64), Chance(9, 3, 64, get_array_library("torch", "cpu"))
    for chance in (ours, theirs):
        chance.next_step()
        chance.next_episode_where(chance.key & 1 == 0)
        chance.next_step()
    np.testing.assert_array_equal(theirs.uniforms(50).numpy(), ours.uniforms(50))
    np.testing.assert_array_equal(theirs.policy_uniforms(5, 3).numpy(), ours.policy_uniforms(5, 3))


@pytest.mark.parametrize("seed", [-1, 2**64, 2**70 + 3])
def test_any_integer_is_a_seed(seed):
    assert (Chance(seed, 0, 2).uniforms(3) < 1).all()


# Trained agents, golden recordings and continued runs depend on these numbers: they never change.
PINNED_KEYS = {
    (0, 0, 3): [13408389281445334777, 2704679061094735174, 14168388208608117069],
    (12345, 7, 2): [7508595406351153567, 16851431606641923291],
}
PINNED_START = ["0x1.b5b2b6b714bd2p-1", "0x1.94afb95cfdf7dp-1", "0x1.890330421c858p-4", "0x1.015a31595ad68p-4"]
PINNED_LATER = ["0x1.3cafea0d1a0bcp-3", "0x1.ff07d34278229p-1", "0x1.cf540b603fa02p-2", "0x1.6c4948ae01fcap-2"]
PINNED_POLICY = ["0x1.73b1dcfbee21cp-1", "0x1.9e819a6970154p-2", "0x1.6d3b561e326cep-1"]


@pytest.mark.parametrize(("worlds", "keys"), PINNED_KEYS.items())
def test_keys_are_pinned(worlds, keys):
    assert world_keys(*worlds).tolist() == keys


def test_uniforms_are_pinned():
    """Of worlds 0 and 1 at the start, and after one world has begun another episode."""
    chance = Chance(0, 0, 3)
    assert [float(x).hex() for x in chance.uniforms(2)[:2].ravel()] == PINNED_START
    chance.next_step()
    chance.next_episode(np.array([1]))
    chance.next_step()
    assert [float(x).hex() for x in chance.uniforms(2)[:2].ravel()] == PINNED_LATER
    assert [float(x).hex() for x in chance.policy_uniforms(1).ravel()] == PINNED_POLICY
