"""What of GOLDEN_DIR is not replayed is named, so that nobody takes it for replayed: other worlds, and absent files."""

import pytest

from tests.golden.cases import check_name, names_in_schemas, worlds_without_an_engine


@pytest.mark.parametrize("path", worlds_without_an_engine())
def test_recordings_of_a_world_without_an_engine_are_not_replayed(path):
    raise AssertionError("such a case is skipped or fails before")


@pytest.mark.parametrize(("folder", "name"), names_in_schemas())
def test_a_worlds_folder_holds_a_file_of_every_name_in_its_schema(folder, name):
    check_name(folder, name)
