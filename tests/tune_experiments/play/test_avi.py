"""AVI files: every chunk where the index says, pictures that decode, the sound unchanged."""

import io
import struct

import numpy as np
import pytest
from PIL import Image

from tune_experiments.play.avi import PICTURE, SOUND, write_avi

FRAMES = [np.full((30, 41, 3), (60 * number, 120, 200), np.uint8) for number in range(4)]
SOUND_OF_A_SECOND = np.arange(2_000, dtype=np.int16).reshape(1_000, 2)


def chunks(data, place=0):
    """Name and content of the chunks that follow one another."""
    while place < len(data):
        name, size = data[place : place + 4], struct.unpack("<I", data[place + 4 : place + 8])[0]
        yield name, data[place + 8 : place + 8 + size]
        place += 8 + size + size % 2
    assert place == len(data)


@pytest.fixture
def written(tmp_path):
    path = write_avi(FRAMES, tmp_path / "deep" / "film.avi", 0.25, SOUND_OF_A_SECOND, 1_000)
    ((name, body),) = chunks(path.read_bytes())
    assert name == b"RIFF" and body[:4] == b"AVI "
    return body[4:]


def test_a_link_in_place_of_a_film_is_replaced_and_what_it_names_is_left_alone(tmp_path):
    (tmp_path / "other").write_text("not ours")
    (tmp_path / "film.avi").symlink_to(tmp_path / "other")
    write_avi(FRAMES, tmp_path / "film.avi", 0.25, SOUND_OF_A_SECOND, 1_000)
    assert (tmp_path / "other").read_text() == "not ours"


def test_it_has_a_header_the_movie_and_an_index(written):
    names = [(name, body[:4]) for name, body in chunks(written)]
    assert names[0] == (b"LIST", b"hdrl") and names[1] == (b"LIST", b"movi") and names[2][0] == b"idx1"


def test_pictures_and_sound_alternate_and_come_back(written):
    movie = list(chunks(written))[1][1][4:]
    parts = list(chunks(movie))
    assert [name for name, _ in parts] == [PICTURE, SOUND] * 4
    for frame, (_, data) in zip(FRAMES, parts[::2], strict=True):
        assert abs(np.asarray(Image.open(io.BytesIO(data))).astype(int) - frame).max() <= 4
    heard = np.frombuffer(b"".join(data for _, data in parts[1::2]), "<i2").reshape(-1, 2)
    np.testing.assert_array_equal(heard, SOUND_OF_A_SECOND)


def test_the_index_says_where_each_chunk_is(written):
    (_, movie), (_, index) = list(chunks(written))[1:]
    for place in range(0, len(index), 16):
        name, flags, offset, size = struct.unpack("<4sIII", index[place : place + 16])
        assert movie[offset : offset + 4] == name and flags == 0x10
        assert struct.unpack("<I", movie[offset + 4 : offset + 8])[0] == size


def test_the_header_has_size_rate_and_both_formats(written):
    header = list(chunks(next(chunks(written))[1][4:]))
    main = struct.unpack("<14I", header[0][1])
    assert main[0] == 250_000 and main[4] == 4 and main[6] == 2 and main[8:10] == (41, 30)
    picture, sound = (dict(chunks(body[4:])) for _, body in header[1:])
    assert picture[b"strh"][:8] == b"vidsMJPG" and sound[b"strh"][:4] == b"auds"
    assert struct.unpack("<HHIIHH", sound[b"strf"]) == (1, 2, 1_000, 4_000, 4, 16)
    assert struct.unpack("<Iii", picture[b"strf"][:12]) == (40, 41, 30)


def test_short_sound_is_followed_by_silence_and_long_sound_is_cut(tmp_path):
    for seconds in (0.5, 2.0):
        path = write_avi(FRAMES, tmp_path / "film.avi", 0.25, np.ones((round(seconds * 1_000), 1), np.int16), 1_000)
        movie = list(chunks(path.read_bytes()[12:]))[1][1][4:]
        heard = np.frombuffer(b"".join(data for name, data in chunks(movie) if name == SOUND), "<i2")
        assert len(heard) == 1_000 and heard.sum() == min(seconds, 1.0) * 1_000


def test_wrong_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="frames of one shape"):
        write_avi([*FRAMES, FRAMES[0][1:]], tmp_path / "film.avi", 0.25, SOUND_OF_A_SECOND, 1_000)
    with pytest.raises(ValueError, match="int16"):
        write_avi(FRAMES, tmp_path / "film.avi", 0.25, SOUND_OF_A_SECOND.astype(float), 1_000)
