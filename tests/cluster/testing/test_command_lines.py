"""Commands without flags print their help and refuse every other word, before they start a cluster."""

import pytest

from cluster.testing import local_cluster, three_nodes


@pytest.mark.parametrize("module", [local_cluster, three_nodes])
@pytest.mark.parametrize(("word", "code"), [("--help", 0), ("--wrokers", 2)])
def test_help_and_an_unknown_word_start_no_cluster(module, word, code, monkeypatch):
    monkeypatch.setattr(module, "LocalCluster", lambda **_: pytest.fail("it starts"))
    monkeypatch.setattr("sys.argv", ["command", word])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == code
