"""The package's own names."""

import tune_experiments


def test_every_public_name_is_there():
    assert all(callable(getattr(tune_experiments, name)) or name == "Episodes" for name in tune_experiments.__all__)
