"""What is fuzzed: sound files of each kind, how they are spoiled, and how the program reads them."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.fuzz import mutations
from tests.fuzz.mutations import Mutation


class Target(ABC):
    """One kind of input."""

    mutations: ClassVar[dict[str, tuple[Mutation, ...]]]
    """By the ending of a file: the ways it is spoiled."""
    apart: ClassVar[bool] = True
    """Whether each file stands for itself: then only the spoiled one is read."""

    @abstractmethod
    def seed(self, folder: Path) -> None:
        """Make sound files in an empty folder."""

    @abstractmethod
    def read(self, folder: Path) -> None:
        """Load all that is there and look at it, as the program would; raises `UserError` for what it refuses."""

    def read_sound(self, sound: Path, scratch: Path) -> None:
        """Read a copy of the sound files, which imports and makes what is made once."""
        shutil.copytree(sound, scratch)
        self.read(scratch)

    def files(self, folder: Path) -> Sequence[Path]:
        """Those of the files that are spoiled."""
        return sorted(path for path in folder.rglob("*") if path.suffix in self.mutations)

    def spoil(self, folder: Path, chance: random.Random) -> str:
        """Spoil one of the files; says what was done."""
        path = chance.choice(self.files(folder))
        mutation = chance.choice(self.mutations[path.suffix])
        mutation(path, chance)
        for other in self.files(folder) if self.apart else ():
            if other != path:
                other.unlink()
        return f"{mutation.__name__} of {path.name}"


class Sessions(Target):
    """Session files, down to the views' arrays and words."""

    mutations: ClassVar = {".specee": (mutations.bytes_anywhere, mutations.sqlite_cell, mutations.sqlite_blob)}

    def seed(self, folder: Path) -> None:
        from core.trace.events import EndReason, RunEnded
        from core.trace.marks import Mark
        from core.trace.session_writer import SessionWriter
        from tests.core.sessions import WEIGHTS
        from tests.fakes import fake_run_events
        from tests.tree_passes import TreePlan, tree_trace

        writer = SessionWriter(folder / "s.specee", recording=False)
        for event in fake_run_events(7, audit=True):
            writer.take(event, WEIGHTS)
        for event in fake_run_events(4, run=1)[:-9]:
            writer.take(event)
        trees = SessionWriter(folder / "t.specee", recording=False)
        for event in [*tree_trace(TreePlan(), TreePlan(refused=(18,))).events, RunEnded(0, EndReason.STOPPED, "")]:
            trees.take(event, WEIGHTS)
        writer.put_mark(Mark(0, 3, 2, "note"))
        writer.close()
        trees.close()

    def read(self, folder: Path) -> None:
        from core.analysis.recorded_parts import from_record
        from core.errors import UserError
        from core.trace.session_file import SessionFile
        from tests.fuzz.looking import look_at

        for path in self.files(folder):
            with contextlib.closing(SessionFile(path)) as file:
                file.marks()
                for run in file.runs:
                    look_at(file.trace(run.number))
                    look_at(file.trace(run.number, lambda _: None))
                    with contextlib.suppress(UserError):
                        from_record(file.weights(run.number))


class Events(Target):
    """JSON Lines of events."""

    mutations: ClassVar = {".jsonl": (mutations.bytes_anywhere, mutations.json_line, mutations.json_line)}

    def seed(self, folder: Path) -> None:
        from core.trace.jsonl import write_events
        from tests.fakes import fake_run_events
        from tests.tree_passes import TreePlan, tree_trace

        for name, events in (
            ("runs", [*fake_run_events(4, audit=True), *fake_run_events(3, run=1)]),
            ("trees", tree_trace(TreePlan(), TreePlan(refused=(18,))).events),
        ):
            with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as lines:
                for _ in write_events(lines, events):
                    pass

    def read(self, folder: Path) -> None:
        from core.trace.importing import import_events
        from core.trace.session_file import SessionFile
        from tests.fuzz.looking import look_at

        for path in self.files(folder):
            import_events(path, path.with_suffix(".specee"))
            with contextlib.closing(SessionFile(path.with_suffix(".specee"))) as file:
                for run in file.runs:
                    look_at(file.trace(run.number))


class Parts(Target):
    """Folders of trained parts, the program's checkpoints."""

    mutations: ClassVar = {
        ".json": (mutations.bytes_anywhere, mutations.json_value),
        ".safetensors": (mutations.bytes_anywhere, mutations.tensor_header),
    }
    apart = False
    _models: ClassVar[dict[str, Any]] = {}

    def seed(self, folder: Path) -> None:
        from core.exits.parts_writing import save_parts
        from tests.core.test_parts_pieces import whole

        save_parts(folder / "parts", whole(self._model()))

    def read(self, folder: Path) -> None:
        from core.exits.parts_folder import find_parts
        from core.exits.parts_reading import load_parts

        model = self._model()
        find_parts(model.info, folder / "parts")
        load_parts(folder / "parts", model)

    def _model(self) -> Any:
        import tempfile

        from core.choices import DType
        from core.model.loading import load_model
        from tests.engines import DEPTH
        from tests.tiny import make_tiny_model

        if not self._models:
            with tempfile.TemporaryDirectory() as place:
                folder = make_tiny_model(Path(place), depth=DEPTH)
                self._models["tiny"] = load_model(folder, dtype=DType.FLOAT32, threads=1)
        return self._models["tiny"]


class Models(Target):
    """Model folders: config, tokenizer and the headers of the weights."""

    apart = False
    mutations: ClassVar = {
        ".json": (mutations.json_value, mutations.json_value, mutations.bytes_anywhere),
        ".jinja": (mutations.bytes_anywhere,),
        ".safetensors": (mutations.tensor_header, mutations.bytes_anywhere),
    }

    def seed(self, folder: Path) -> None:
        from tests.tiny import make_tiny_model

        make_tiny_model(folder / "model", depth=2)

    def read(self, folder: Path) -> None:
        import threading

        from core.choices import DType, Policy
        from core.config import RunSettings
        from core.engine import Engine, RunRequest
        from core.model.loading import load_model

        model = load_model(folder / "model", dtype=DType.FLOAT32, threads=1)
        request = RunRequest("the sun", RunSettings(Policy.DENSE, max_new_tokens=2))
        for _ in Engine(model).run(request, threading.Event()):
            pass


class Settings(Target):
    """Settings as JSON: a run's, and what the window's form remembers."""

    mutations: ClassVar = {".json": (mutations.json_value, mutations.json_value, mutations.bytes_anywhere)}

    def seed(self, folder: Path) -> None:
        from app.form_values import FormValues
        from core.config import RunSettings

        (folder / "run.json").write_text(json.dumps(RunSettings().to_json()), encoding="utf-8")
        (folder / "form.json").write_text(json.dumps(FormValues().to_json()), encoding="utf-8")

    def read(self, folder: Path) -> None:
        from app.form_values import FormValues
        from core.config import RunSettings
        from core.errors import UserError

        for path in self.files(folder):
            try:
                values = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise UserError("This is no JSON.") from error
            if path.stem == "run":
                RunSettings.from_json(values).check_against(30)
            else:
                FormValues.from_json(values)


class Prompts(Target):
    """Files of prompts."""

    mutations: ClassVar = {
        ".jsonl": (mutations.bytes_anywhere, mutations.json_line),
        ".txt": (mutations.bytes_anywhere,),
    }

    def seed(self, folder: Path) -> None:
        lines = [json.dumps({"prompt": f"Why {n}?", "category": "why"}) for n in range(6)]
        (folder / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "b.txt").write_text("Why is the sky blue?\nŽluťoučký kůň\n", encoding="utf-8")

    def read(self, folder: Path) -> None:
        from app.commands.prompt_files import in_turns, of_split, read_prompts
        from core.training import prompts

        in_turns(of_split(read_prompts(self.files(folder)), None))
        for path in self.files(folder):
            if path.suffix == ".jsonl":
                prompts.read_prompts([path])


TARGETS: dict[str, Target] = {
    "sessions": Sessions(),
    "events": Events(),
    "parts": Parts(),
    "models": Models(),
    "settings": Settings(),
    "prompts": Prompts(),
}
