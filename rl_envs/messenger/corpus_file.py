"""Corpora from disk: folders with `text_{train,val,test}.json` and maybe `games.json`, as in the published corpus.

Folders are untrusted: reading is bounded, nothing in them is executed, and every error is one sentence that names the
file and the key path.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

from rl_envs.core.json_file import JsonFileError, read_object
from rl_envs.messenger.corpus import TEXT_SPLITS, Corpus, CorpusError, Document
from rl_envs.messenger.games import Games, games_by_rule, load_games
from rl_envs.messenger.own_corpus import own_documents

OWN, PUBLISHED = "own", "published"
FOLDER_VARIABLE = "MESSENGER_TEXT_DIR"
MAX_FILE_BYTES = 2**26
_FORM = "the published corpus (entity, role, movement, list of sentences)"
_MISREAD_QUOTES = {
    bytes(quote, "utf-8").decode("cp1252", "replace"): ascii_quote
    for quote, ascii_quote in (("‘", "'"), ("’", "'"), ("“", '"'))
}
"""Quotation marks whose UTF-8 bytes were read as Windows-1252 (three characters) -> ASCII."""


def build_corpus(texts: str, repair_quotes: bool, max_per_cell: int | None) -> tuple[Corpus, Games]:
    """The sentences and games for a world's arguments; each folder is read once per process."""
    return _made(None if texts == OWN else _folder(texts), repair_quotes, max_per_cell)


@cache
def _made(folder: Path | None, repair_quotes: bool, max_per_cell: int | None) -> tuple[Corpus, Games]:
    """Corpus and games of a folder, or our own ones."""
    if folder is None:
        return Corpus(own_documents(), max_per_cell), games_by_rule()
    documents = load_documents(folder, repair_quotes)
    games = folder / "games.json"
    try:
        corpus = Corpus(documents, max_per_cell)
    except CorpusError as error:
        raise CorpusError(f"texts in {folder}: {error}") from None
    return corpus, load_games(games) if games.exists() else games_by_rule()


def load_documents(folder: str | os.PathLike[str], repair_quotes: bool = False) -> dict[str, Document]:
    """Read the files of all splits of a folder; `Corpus` checks their content; raises CorpusError.

    With `repair_quotes`, mis-decoded quotation marks (three characters each) become ASCII ones.
    """
    documents: dict[str, Document] = {}
    for split in TEXT_SPLITS:
        path = Path(folder) / f"text_{split}.json"
        try:
            document = read_object(path, MAX_FILE_BYTES, _FORM)
        except JsonFileError as error:
            raise CorpusError(f"text file {path}: {error}") from None
        documents[split] = _repaired(document) if repair_quotes else document
    return documents


def _folder(texts: str) -> Path:
    """The folder of `published` or of a path."""
    named = os.environ.get(FOLDER_VARIABLE) if texts == PUBLISHED else texts
    if not named and texts == PUBLISHED:
        raise CorpusError(
            f"the published corpus is not part of this project: set {FOLDER_VARIABLE} to the folder with its "
            f"text_train.json, text_val.json and text_test.json, or take texts={OWN!r}"
        )
    folder = Path(named).expanduser().absolute() if named and isinstance(named, str | os.PathLike) else None
    if folder is None or not folder.is_dir():
        raise CorpusError(
            f"texts are {OWN!r}, {PUBLISHED!r} or a folder with text_train.json, text_val.json and text_test.json, and "
            f"{named!r}{f' in {FOLDER_VARIABLE}' if texts == PUBLISHED else ''} is none of them: correct it"
        )
    return folder


def _repaired(node: Any) -> Any:
    """The same tree with repaired quotation marks."""
    if isinstance(node, dict):
        return {key: _repaired(child) for key, child in node.items()}
    if isinstance(node, list):
        return [_repaired(child) for child in node]
    if isinstance(node, str):
        for misread, quote in _MISREAD_QUOTES.items():
            node = node.replace(misread, quote)
    return node
