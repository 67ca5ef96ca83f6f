"""What was computed is kept while weights stay, the oldest of it not for ever."""

import torch

from rl_models.runtime.fixed_weights import LRUCache


def test_values_are_computed_once_for_the_same_weights_and_the_oldest_are_forgotten():
    asked = []

    def doubled(keys):
        asked.append(list(keys))
        return [2 * key for key in keys]

    memory, weight = LRUCache(3), torch.zeros(2)
    assert memory.get([1, 2, 1], [weight], doubled) == [2, 4, 2]
    assert memory.get([2, 3, 4, 5], [weight], doubled) == [4, 6, 8, 10]
    assert memory.get([5, 1], [weight], doubled) == [10, 2]
    weight += 1
    assert memory.get([5], [weight], doubled) == [10]
    assert asked == [[1, 2], [3, 4, 5], [1], [5]]
    assert memory.computed == 7
