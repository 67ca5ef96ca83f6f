"""The folder of wheels for a machine without network: what is in it, and by which versions."""

import pytest

from cluster import wheels
from cluster.jobs import pinned_packages
from tune_experiments.core.errors import EXIT_CODE, UserError


def test_the_wheels_are_those_of_what_is_wanted_and_of_all_that_it_needs():
    found = wheels.list_wheels()
    assert set(found) <= {f"{name}=={version}" for name, version in pinned_packages().items()}  # in the tested versions
    names = {wheel.partition("==")[0].lower() for wheel in found}
    assert names >= {*wheels.WANTED, "pydantic_core", "typing_extensions", "cloudpickle", "docstring_parser"}
    assert not names & {*wheels.PRESENT, "ray"}


def test_what_no_version_is_known_of_is_named():
    with pytest.raises(UserError, match="no-such-package"):
        wheels.list_wheels(["no_such_package"])


@pytest.mark.parametrize("arguments", [[], ["--help-me"], ["a", "b"]])
def test_the_command_wants_a_folder(capsys, arguments):
    assert wheels.main(arguments) == EXIT_CODE
    assert "FOLDER" in capsys.readouterr().err
