"""The engine's settings: only what can be run can be entered, and only what the chosen policy uses is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, QTimer, Signal, Slot
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from app.check_form import CheckForm
from app.choices import AUDIT_NOTE, RECORDS
from app.fold import Fold
from app.form_values import FormValues, Input, uses
from app.forms import Note, Rows, choose, combo, spin
from app.model_form import LoadOptions, ModelForm
from app.policy_form import PolicyForm
from app.profiles import Point
from app.run_forms import SamplingForm, SchedulerForm
from app.tree_form import TreeForm
from core.choices import Policy, Record
from core.config import RunSettings, TreeSettings
from core.errors import UserError

NO_CLASSIFIERS = "No classifiers are trained for this model; `specee-viewer train --stage adainfer` makes them."


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the settings must know of a loaded model."""

    name: str
    depth: int
    context: int
    has_parts: bool
    parts_problem: str = ""
    """Why SpecEE cannot be chosen, and how to make it so; "" with parts."""
    parts: str = ""
    """A few words about the trained parts."""
    card: Mapping[str, Any] = field(default_factory=dict)
    """What the trained parts say of themselves."""
    pieces: frozenset[str] = frozenset()
    """Fields of `TrainedParts` that are there beside drafter and predictors."""
    pieces_problems: Mapping[str, str] = field(default_factory=dict)
    """Why one of them is not there although its file is: a sentence by its name."""
    devices: tuple[str, ...] = ("cpu",)
    """Where a model can be loaded on this machine."""

    @property
    def has_adainfer(self) -> bool:
        """Whether AdaInfer's classifiers were trained, too."""
        return "adainfer" in self.pieces

    def why_not(self, policy: Policy) -> str:
        """What the policy needs and is not there, as a sentence; "" where it can run."""
        if policy.needs_parts and not self.has_parts:
            return self.parts_problem
        if policy.needs_adainfer and not self.has_adainfer:
            return self.pieces_problems.get("adainfer", NO_CLASSIFIERS)
        return ""


class SettingsPanel(QWidget):
    """A form that yields a `RunSettings`, and the options to load a model with."""

    changed = Signal()
    reload_requested = Signal()
    parts_requested = Signal()
    """Show the trained parts' card."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Engine settings")
        self._facts: ModelFacts | None = None
        self._running = False
        self._laid_out = QTimer(self)
        self._laid_out.setSingleShot(True)
        self._laid_out.timeout.connect(self._reveal_error)
        self._make()
        self._lay_out()
        self._connect()
        self.set_model(None)

    def settings(self, chat_template: bool) -> RunSettings:
        """What is entered.

        Raises:
            UserError: the model cannot do it; the sentence is also shown in the form.
        """
        try:
            settings = replace(self.values(), policy=self.exits.used, tree=self._tree()).run_settings(chat_template)
            if self._facts is not None:
                settings.check_against(self._facts.depth)
        except UserError as error:
            self._show_error(str(error))
            raise
        self.note.clear()
        return settings

    def values(self) -> FormValues:
        """Everything that is entered, with the policy that the user wants even where this model cannot do it."""
        lens, gate, check, draft_head = self.checks.values()
        entered = FormValues(
            scheduler=self.scheduler.value(),
            lens=lens,
            gate=gate,
            check=check,
            draft_head=draft_head,
            record=Record(self.record.currentData()),
            sampling=self.sampling.sampling(),
            tree=self.tree.value(),
            stop=self.sampling.stop_strings(),
            max_new_tokens=self.max_tokens.value(),
        )
        return self.exits.values(entered)

    def set_values(self, values: FormValues) -> None:
        """Enter these; what the form's ranges do not allow is brought to the nearest that they do."""
        with QSignalBlocker(self), QSignalBlocker(self.sampling), QSignalBlocker(self.tree):
            self._take_point(values)
            self.tree.setValue(values.tree)
            self.sampling.set_values(values.sampling, values.stop)
            choose(self.record, values.record)
            self.max_tokens.setValue(values.max_new_tokens)
            self.exits.set_values(values)
        self._show()

    def set_settings(self, settings: RunSettings) -> None:
        """Enter a run's settings; inputs that its policy does not use stay as they are."""
        self.set_values(self.values().taking(settings))
        self.exits.find_profile()

    def set_model(self, facts: ModelFacts | None) -> None:
        """Fit the form to a model. What it lacks trained parts for is greyed out, and the form says how to train."""
        self._facts = facts
        refused = {policy: why for policy in Policy if facts and (why := facts.why_not(policy))}
        self.scheduler.set_depth(facts.depth if facts else None)
        self.max_tokens.setMaximum(facts.context if facts else 1_000_000)
        pieces = facts.pieces if facts else frozenset[str]()
        self.checks.set_pieces(pieces, facts.pieces_problems if facts else {})
        self.exits.set_model(facts.depth if facts else None, facts.card if facts else {}, refused, pieces)
        self.model.set_parts(facts.parts if facts and facts.has_parts else "")
        if facts is not None:
            self.model.set_devices(facts.devices)
        if facts is not None and not facts.has_parts:
            self.exits.policy_note.show_caution(facts.parts_problem)
        else:
            self.exits.policy_note.clear()
        self._show()

    def set_load_options(self, options: LoadOptions) -> None:
        """What the model was loaded with: from here on a change asks for a reload."""
        self.model.setValue(options)
        self._show()

    def load_options(self) -> LoadOptions:
        """What to load a model with."""
        return self.model.value()

    def set_running(self, running: bool) -> None:
        """Whether a run holds the model, which then cannot be reloaded with a click beside its settings."""
        self._running = running
        self._offer_reload()

    def set_unfolded(self, keys: list[str]) -> None:
        """Unfold these sections and fold the others."""
        for fold in self.folds:
            fold.unfold(fold.key in keys)

    def unfolded(self) -> list[str]:
        """The sections that are unfolded."""
        return [fold.key for fold in self.folds if fold.is_unfolded]

    @property
    def _can_grow(self) -> bool:
        """Whether policy and trained parts can decode trees, which a drafter grows."""
        return Input.TREE in uses(self.exits.used) and (self._facts is None or self._facts.has_parts)

    def _tree(self) -> TreeSettings:
        if not self._can_grow:
            return TreeSettings()
        self.tree.check()
        return self.tree.value()

    def _make(self) -> None:
        usual = FormValues()
        self.exits, self.scheduler, self.checks = PolicyForm(), SchedulerForm(), CheckForm()
        self.tree, self.sampling, self.model = TreeForm(), SamplingForm(), ModelForm()
        self.record = combo(RECORDS, "Record", "How much of a run is kept to look at")
        self.audit_note = Note()
        self.max_tokens = spin(
            1, 1_000_000, usual.max_new_tokens, "Max tokens", "The run ends after so many new tokens"
        )
        self.folds = (
            Fold("scheduler", "Scheduler", self.scheduler, unfolded=True),
            Fold("checks", "Lens and checks", self.checks),
            Fold("tree", "Token tree", self.tree),
            Fold("sampling", "Sampling and stop", self.sampling),
            Fold("model", "Model", self.model),
        )
        self.note = Note()

    def _lay_out(self) -> None:
        rows = Rows()
        rows.add("Recor&d", self.record)
        rows.add_wide(self.audit_note)
        rows.add("M&ax tokens", self.max_tokens)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.exits)
        column.addLayout(rows)
        for fold in self.folds:
            column.addWidget(fold)
        column.addWidget(self.note)
        column.addStretch(1)

    def _connect(self) -> None:
        self.exits.changed.connect(self._edited)
        self.exits.point_wanted.connect(self._take_point)
        self.scheduler.changed.connect(self._point_edited)
        self.checks.changed.connect(self._point_edited)
        self.tree.changed.connect(self._edited)
        self.sampling.changed.connect(self._edited)
        self.model.changed.connect(self._edited)
        self.record.currentIndexChanged.connect(self._edited)
        self.max_tokens.valueChanged.connect(self._edited)
        self.model.reload_requested.connect(self.reload_requested)
        self.model.parts_requested.connect(self.parts_requested)

    @Slot(object)
    def _take_point(self, point: Point | FormValues) -> None:
        """Enter what belongs to a profile, but for the threshold."""
        with QSignalBlocker(self.scheduler), QSignalBlocker(self.checks):
            self.scheduler.setValue(point.scheduler)
            self.checks.set_values(point.lens, point.gate, point.check, point.draft_head)

    @Slot()
    def _point_edited(self) -> None:
        lens, gate, check, draft_head = self.checks.values()
        scheduler = self.scheduler.value()
        self.exits.set_point(Point(scheduler=scheduler, lens=lens, gate=gate, check=check, draft_head=draft_head))
        self._edited()

    @Slot()
    def _edited(self) -> None:
        self.note.clear()
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        used = uses(self.exits.used)
        self.folds[0].setVisible(Input.SCHEDULER in used)
        self.folds[1].setVisible(Input.LENS in used)
        self.folds[2].setVisible(self._can_grow)
        self.tree.allow_mapping(self.exits.used.needs_parts)
        self.checks.show_inputs(lens=Input.LENS in used, checks=Input.CHECKS in used)
        self.sampling.allow_sampling(Input.SAMPLING in used)
        self._offer_reload()
        if self.record.currentData() == Record.AUDIT:
            self.audit_note.show_remark(AUDIT_NOTE)
        else:
            self.audit_note.clear()
        bodies = self.scheduler, self.checks, self.tree, self.sampling, self.model
        for fold, words in zip(self.folds, [body.summary() for body in bodies], strict=True):
            fold.set_summary(words)

    def _offer_reload(self) -> None:
        self.model.set_can_reload(self._facts is not None and not self._running)

    @Slot()
    def _reveal_error(self) -> None:
        """An error may lie below what the scrolled form shows; where, is known once the layout has its sizes."""
        parent = self.parentWidget()
        area = parent.parentWidget() if parent else None
        if self.note.isVisible() and isinstance(area, QScrollArea):
            area.ensureWidgetVisible(self.note)

    def _show_error(self, sentence: str) -> None:
        self.note.show_error(sentence)
        self._laid_out.start()
