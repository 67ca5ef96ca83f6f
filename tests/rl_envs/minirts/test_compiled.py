"""Compiled code lies only where nobody else can write, and without such a place everything works."""

from rl_envs.minirts.compiled import CACHE_VARIABLE, cache_folder, entry


def test_the_folder_for_compiled_code_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    folder = cache_folder()
    assert folder.parent == tmp_path / "cache"
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_write_holds_no_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    assert cache_folder() is None


def test_without_a_folder_an_entry_is_compiled_in_memory(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))

    def doubled(number):
        return 2 * number

    assert cache_folder() is None
    assert entry(doubled)(4) == 8
