"""All episodes of a recording side by side, one world each, through the world's public API."""

from types import SimpleNamespace

import numpy as np


class SideBySide:
    """A subclass restores `world`, keeps what it shows as `obs`, and says what `chance` was recorded."""

    idle = 0
    """What agents do whose episode is over."""

    def __init__(self, path):
        self.data = dict(np.load(path, allow_pickle=False))
        self.first = self.data["ep_start"][:-1].astype(int)
        self.lengths = np.diff(self.data["ep_start"]).astype(int)

    def steps(self):
        """Yield for each time the rows that still play, the indices of their recorded steps, and what happened."""
        for time in range(self.lengths.max()):
            rows = np.flatnonzero(self.lengths > time)
            index = self.first[rows] + time
            actions = np.full((len(self.first), self.world.num_agents), self.idle)
            actions[rows] = self.data["action"][index].reshape(len(rows), -1)
            seen, before = self.obs, {name: value.copy() for name, value in self.world.state.items()}
            self.obs, reward, terminated, truncated, info = self.world.step(actions, self.chance(rows, index))
            after = {name: value.copy() for name, value in self.world.state.items()}
            for kept, final in ((after, "final_state"), (self.obs, "final_obs")):
                for name, value in info.get(final, {}).items():
                    kept[name][info["done_worlds"]] = value
            yield SimpleNamespace(
                rows=rows, index=index, seen=seen, before=before, after=after, obs=self.obs, reward=reward,
                terminated=terminated, truncated=truncated, info=info,
            )  # fmt: skip
