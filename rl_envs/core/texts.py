"""Text tables: composed text is stored as distinct rows of tokens, and an observation holds a row number.

So an encoder runs once per text, not once per step. A store only grows until its owner calls `compact`, so row numbers
stay valid for a whole fragment.
"""

import numpy as np

from rl_envs.core.spec import Array, TextSpec


class TextStore:
    """The distinct texts, of length and vocabulary `spec`, to which the row numbers in observations refer."""

    def __init__(self, spec: TextSpec) -> None:
        self.spec = spec
        self._rows: list[Array] = []
        self._number: dict[bytes, int] = {}
        self._table: Array | None = None

    def __len__(self) -> int:
        """Number of texts, D."""
        return len(self._rows)

    @property
    def table(self) -> Array:
        """Token ids of all texts in the order of adding, [D, L] int32; a fresh array."""
        if self._table is None or len(self._table) != len(self._rows):
            self._table = np.array(self._rows, np.int32).reshape(-1, self.spec.length)
        return self._table.copy()

    def add(self, texts: Array) -> Array:
        """Row numbers [K] int32 of texts [K, L]; a text already in the store keeps its row.

        Raises ValueError where a text has the wrong length, or a token that is no integer or outside the vocabulary.
        """
        texts = np.asarray(texts)
        if texts.ndim != 2 or texts.shape[1] != self.spec.length or texts.dtype.kind not in "iu":
            raise ValueError(f"a text has {self.spec.length} tokens here; got {texts.dtype} of shape {texts.shape}")
        if texts.size and not (texts.min() >= 0 and texts.max() < self.spec.vocabulary):
            raise ValueError(f"token ids must lie in 0 .. {self.spec.vocabulary - 1}; got {texts.min()}..{texts.max()}")
        return np.array([self._add_text(text) for text in texts.astype(np.int32)], np.int32)

    def look_up(self, rows: Array) -> Array:
        """The texts with these row numbers [...] int, [*rows.shape, L] int32, without building the whole table."""
        texts = [self._rows[row] for row in np.ravel(rows)]
        return np.array(texts, np.int32).reshape(*np.shape(rows), self.spec.length)

    def load(self, table: Array) -> None:
        """Replace the content by these rows, [D, L] token ids, which keep their numbers; raises as `add` does."""
        loaded = TextStore(self.spec)
        loaded.add(table)
        self.take(loaded)

    def take(self, other: "TextStore") -> None:
        """Replace the content by that of another store, which must not be used any more."""
        self._rows, self._number, self._table = other._rows, other._number, other._table

    def copy(self) -> "TextStore":
        """A store of the same texts, which grows by itself."""
        twin = TextStore(self.spec)
        twin._rows, twin._number, twin._table = self._rows.copy(), self._number.copy(), self._table
        return twin

    def compact(self, used: Array) -> Array:
        """Remove the texts whose row numbers are not in `used` [...]; the new numbers, [...] int32."""
        keep, renumbered = np.unique(used, return_inverse=True)
        rows = [self._rows[row] for row in keep]
        self._rows, self._number, self._table = [], {}, None
        for row in rows:
            self._add_text(row)
        return renumbered.reshape(np.shape(used)).astype(np.int32)

    def _add_text(self, text: Array) -> int:
        name = text.tobytes()
        if name not in self._number:
            self._number[name] = len(self._rows)
            self._rows.append(text.copy())
        return self._number[name]
