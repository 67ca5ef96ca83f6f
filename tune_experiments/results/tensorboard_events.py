"""One TensorBoard event file over env steps, written synchronously: without threads and without torch."""

import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.plugins.text import metadata as text_plugin
from tensorboard.summary.writer.record_writer import RecordWriter

PATTERN = f"events.out.tfevents.{'[0-9]' * 10}.{'[0-9]' * 9}"
"""Pattern of our event files: TensorBoard's own writers add the machine's name and more."""
UNFINISHED_PATTERN = ".unfinished_events_[0-9]*"


class EventFile:
    """A new event file in `folder`. It stays hidden under another name until `publish`, so never incomplete."""

    def __init__(self, folder: Path) -> None:
        nanoseconds = time.time_ns()
        self.path = folder / f"events.out.tfevents.{nanoseconds // 10**9:010d}.{nanoseconds % 10**9:09d}"
        self._hidden = folder / f".unfinished_events_{nanoseconds}"
        self._file = self._hidden.open("wb")
        self._records = RecordWriter(self._file)
        self._write(event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2"))
        # Makes a running TensorBoard discard what it read from the file that this one replaces.
        start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._write(event_pb2.Event(wall_time=time.time(), step=0, session_log=start))

    def publish(self) -> None:
        """Give the file the name under which TensorBoard finds it; it stays open."""
        self._file.flush()
        self._hidden.rename(self.path)

    def add_scalars(self, scalars: Mapping[str, float], env_steps: int, wall_time: float) -> None:
        """Write one point of each curve; `wall_time` in seconds since 1970."""
        values = [summary_pb2.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._write_summary(values, env_steps, wall_time)

    def add_text(self, tag: str, markdown: str, wall_time: float) -> None:
        """Write a text in Markdown, at step 0."""
        tensor = tensor_pb2.TensorProto(
            dtype=types_pb2.DT_STRING,
            string_val=[markdown.encode()],
            tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)]),
        )
        metadata = text_plugin.create_summary_metadata(display_name=tag, description="")
        self._write_summary([summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)], 0, wall_time)

    def add_hparams(self, values: Mapping[str, bool | float | str], group: str, wall_time: float) -> None:
        """Write what the tab HParams shows of a run: its values, and the group over which it takes means."""
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb  # .2 s that no other command needs

        summary = hparams_pb(dict(values), trial_id=group, start_time_secs=wall_time)
        self._write(event_pb2.Event(wall_time=wall_time, step=0, summary=summary))

    def flush(self) -> None:
        """Flush to disk."""
        self._file.flush()

    def close(self) -> None:
        """Close the file; one that was never published vanishes."""
        self._file.close()
        self._hidden.unlink(missing_ok=True)

    def _write_summary(self, values: list[summary_pb2.Summary.Value], env_steps: int, wall_time: float) -> None:
        summary = summary_pb2.Summary(value=values)
        self._write(event_pb2.Event(wall_time=wall_time, step=env_steps, summary=summary))

    def _write(self, event: event_pb2.Event) -> None:
        self._records.write(event.SerializeToString())
