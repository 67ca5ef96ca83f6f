"""What was computed is kept for one version, the oldest of it not for ever."""

from rl_models.llm.memory import Memory


def test_values_are_computed_once_a_version_and_the_oldest_are_forgotten():
    asked = []

    def doubled(keys):
        asked.append(list(keys))
        return [2 * key for key in keys]

    memory = Memory(3)
    assert memory.of([1, 2, 1], "a", doubled) == [2, 4, 2]
    assert memory.of([2, 3, 4, 5], "a", doubled) == [4, 6, 8, 10]
    assert memory.of([5, 1], "a", doubled) == [10, 2]
    assert memory.of([5], "b", doubled) == [10]
    assert asked == [[1, 2], [3, 4, 5], [1], [5]]
    assert memory.computed == 7
