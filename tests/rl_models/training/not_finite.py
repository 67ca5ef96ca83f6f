"""A loss that is not finite for a while, for the tests of skipped updates; importable by Ray's workers."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class NotFinite:
    """An extra loss that is NaN while training is between two numbers of env steps."""

    begins: int
    ends: int = 10**9

    def __call__(self, output, batch, progress):
        bad = self.begins <= progress.env_steps < self.ends
        return output.values.mean() * (float("nan") if bad else 0.0), {}
