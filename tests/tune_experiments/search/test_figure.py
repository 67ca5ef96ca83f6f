"""A search as a figure and in TensorBoard's tab HParams."""

import math

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

from tune_experiments.search.folder import Ranked, draw_scores, write_hparams
from tune_experiments.search.settings import Setting

KEY = "valid/success"


def ranked(number, values, *scores):
    return Ranked(Setting(number, None, values), dict(enumerate(scores)), ())


RANKING = {
    "sync": [
        ranked(0, {"rate": 0.1, "widths": (8, 8), "joint": True}, 0.5, 0.7),
        ranked(1, {"rate": 0.001, "widths": (), "joint": False}, 0.25, math.nan),
    ],
    "marginal": [ranked(0, {"rate": 0.1}, 0.125)],
}


def test_a_search_without_a_finished_setting_is_no_error(tmp_path):
    draw_scores(tmp_path / "plots", {"sync": []}, KEY)
    write_hparams(tmp_path, {"sync": []}, KEY)


def test_tensorboard_finds_values_and_scores_and_takes_the_seeds_of_a_setting_as_one_group(tmp_path):
    for _ in range(2):  # a ranking that is made again
        write_hparams(tmp_path, RANKING, KEY)
    found = {}
    for run in sorted((tmp_path / "hparams").iterdir()):
        (file,) = run.iterdir()
        events = EventAccumulator(str(file)).Reload()
        data = events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
        start = metadata.parse_session_start_info_plugin_data(data)
        values = {
            name: value.string_value or value.number_value or value.bool_value for name, value in start.hparams.items()
        }
        found[run.name] = start.group_name, values, events.Scalars(KEY)[0].value
    assert list(found) == ["marginal-setting00-seed0", *(f"sync-setting0{n}-seed{s}" for n in (0, 1) for s in (0, 1))]
    group, values, score = found["sync-setting00-seed1"]
    assert (group, score) == (found["sync-setting00-seed0"][0], np.float32(0.7))
    assert values == {"method": "sync", "rate": 0.1, "widths": "(8, 8)", "joint": True}
