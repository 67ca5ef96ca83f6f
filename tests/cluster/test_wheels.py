"""The folder of wheels for a machine without network: what is in it, and by which versions."""

import pytest

from cluster import wheels
from tune_experiments.core.errors import EXIT_CODE, UserError


def test_the_wheels_are_those_of_what_is_wanted_and_of_all_that_it_needs():
    names = {wheel.partition("==")[0].lower() for wheel in wheels.wheels_of()}
    assert names >= {*wheels.WANTED, "pydantic_core", "typing_extensions", "cloudpickle", "docstring_parser"}
    assert not names & {*wheels.PRESENT, "ray"}


def test_versions_are_those_that_were_tested():
    pinned = wheels.CONSTRAINTS.read_text().splitlines()
    assert set(wheels.wheels_of()) <= set(pinned)


def test_what_no_version_is_known_of_is_named():
    with pytest.raises(UserError, match="no-such-package"):
        wheels.wheels_of(["no_such_package"])


@pytest.mark.parametrize("arguments", [[], ["--help-me"], ["a", "b"]])
def test_the_command_wants_a_folder(capsys, arguments):
    assert wheels.main(arguments) == EXIT_CODE
    assert "FOLDER" in capsys.readouterr().err
