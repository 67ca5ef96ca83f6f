"""Default models of these tests lie in one temporary folder, so that each is trained once."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def models_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONCORD_LANGUAGE_MODELS", str(tmp_path_factory.mktemp("language_models")))
        yield
