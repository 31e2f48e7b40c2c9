"""Which rule may end a token's pass, and what that rule goes by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.choices import GROUPS_BEGIN, KV_POLICIES, POLICIES, Choice
from app.form_values import FOLLOW_MODEL, FormValues, Input, uses
from app.forms import Note, Rows, beside, choose, combo, enable_row, fill, labelled, plain, spin
from app.own_policy_field import OwnPolicyField
from app.profiles import CUSTOM, POINT, Measured, Point, Profile, frontier_of, measured_at, profiles_of
from app.threshold_field import ThresholdField
from core.choices import KVPolicy, Policy

_TIPS = {choice.value: choice.tip for choice in POLICIES}


class PolicyForm(QWidget):
    """Policy, profile, thresholds, fixed layer, own class and KV policy; only what the chosen policy uses is shown."""

    changed = Signal()
    point_wanted = Signal(object)
    """The `Point` of the profile that was chosen."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted = FormValues().policy
        self._profile = FormValues().profile
        self._profiles = profiles_of({})
        self._frontier: tuple[Measured, ...] = ()
        self._point = Point()
        """What belongs to a profile; the threshold is the form's own."""
        self._depth: int | None = None
        self._make()
        self._lay_out()
        self._connect()
        self.set_model(None, {}, {})

    @property
    def used(self) -> Policy:
        """The policy that is chosen and that the model can run."""
        return Policy(self.policy.currentData())

    def values(self, base: FormValues) -> FormValues:
        """`base` with what is entered here; the policy is the one that the user wants."""
        return replace(
            base,
            policy=self._wanted,
            profile=self._profile,
            threshold=self.threshold.value(),
            layer_thresholds=self._point.layer_thresholds,
            confidence=self.confidence.value(),
            fixed_layer=self.fixed_layer.value(),
            custom=self.own.value(),
            kv_policy=KVPolicy(self.kv_policy.currentData()),
        )

    def set_values(self, values: FormValues) -> None:
        """Enter these; what the ranges do not allow is brought to the nearest that they do."""
        self._wanted = values.policy
        with QSignalBlocker(self), QSignalBlocker(self.policy):
            choose(self.policy, values.policy)
            choose(self.kv_policy, values.kv_policy)
            self.threshold.setValue(values.threshold)
            self.confidence.setValue(values.confidence)
            self.fixed_layer.setValue(values.fixed_layer)
            self.own.setValue(values.custom)
        self._point, self._profile = Point(**{name: getattr(values, name) for name in POINT}), values.profile
        self._show()

    def set_model(
        self, depth: int | None, card: Mapping[str, Any], refused: Mapping[Policy, str], pieces: Collection[str] = ()
    ) -> None:
        """Fit ranges, profiles and policies to a model and its parts; None is no model.

        `refused` says of each policy that cannot be chosen why not.
        """
        self._depth = depth
        self._profiles, self._frontier = profiles_of(card, pieces), frontier_of(card)
        self.fixed_layer.setMaximum(depth or 1000)
        self._of_depth.setText(f"of {depth} layers" if depth else "layers")
        for row in range(self.policy.count()):
            value = self.policy.itemData(row)
            if value is not None:  # None is a line between groups
                enable_row(self.policy, row, Policy(value) not in refused)
                tip = refused.get(Policy(value)) or _TIPS[value]
                self.policy.setItemData(row, plain(tip), Qt.ItemDataRole.ToolTipRole)
        with QSignalBlocker(self.policy):
            choose(self.policy, Policy.DENSE if self._wanted in refused else self._wanted)
        if self._profile == FOLLOW_MODEL and depth is not None:
            self._apply(self._profiles[0])
        self._show()

    def set_point(self, point: Point) -> None:
        """What belongs to a profile has been changed elsewhere; its threshold counts for nothing."""
        self._point = replace(point, layer_thresholds=self._point.layer_thresholds)
        self.find_profile()

    def find_profile(self) -> None:
        """Name the profile that the values are; what was chosen before does not count."""
        found = next((one for one in self._profiles if one.point == self._entered()), None)
        self._profile = found.key if found else CUSTOM
        self._show()

    def _entered(self) -> Point:
        return replace(self._point, threshold=self.threshold.value())

    def _make(self) -> None:
        usual = FormValues()
        self.policy = combo(POLICIES, "Policy", "Which rule may end a token's pass early")
        for value in GROUPS_BEGIN:
            self.policy.insertSeparator(self.policy.findData(str(value)))
        self.policy_note = Note()
        self.profile = combo((), "Profile", "Threshold, scheduler, lens and checks that go together")
        self.measured = Note()
        self.threshold = ThresholdField(
            usual.threshold,
            "Threshold",
            "An exit is proposed where the predictor's score, 0 to 1, is above this (SpecEE §4.3)",
        )
        self.confidence = ThresholdField(
            usual.confidence,
            "Confidence",
            "A token leaves where the likeliest token's probability, 0 to 1, is above this (Schuster et al., 2022)",
        )
        self.fixed_layer = spin(1, 1000, usual.fixed_layer, "Exit layer", "How many layers every token runs, 1 to L")
        self._of_depth = labelled("", "muted")
        self.own = OwnPolicyField()
        self.kv_policy = combo(KV_POLICIES, "Skipped K/V", "What becomes of the K/V of layers that a token skipped")

    def _lay_out(self) -> None:
        self._rows = rows = Rows()
        self.setLayout(rows)
        self._fixed = beside(self.fixed_layer, self._of_depth)
        rows.add("P&olicy", self.policy)
        rows.add_wide(self.policy_note)
        rows.add("Profi&le", self.profile)
        rows.add_wide(self.measured)
        rows.add_wide(self.own)
        rows.add("&Threshold", self.threshold, self.threshold.spin)
        rows.add("Confide&nce", self.confidence, self.confidence.spin)
        rows.add("Exit &layer", self._fixed, self.fixed_layer)
        rows.add("S&kipped K/V", self.kv_policy)

    def _connect(self) -> None:
        self.policy.activated.connect(self._want)
        self.policy.currentIndexChanged.connect(self._edited)
        self.profile.activated.connect(self._choose_profile)
        self.threshold.changed.connect(self._edit_profile)
        self.confidence.changed.connect(self._edited)
        self.fixed_layer.valueChanged.connect(self._edited)
        self.own.changed.connect(self._edited)
        self.kv_policy.currentIndexChanged.connect(self._edited)

    @Slot()
    def _want(self) -> None:
        self._wanted = self.used

    @Slot()
    def _choose_profile(self) -> None:
        chosen = next((one for one in self._profiles if one.key == self.profile.currentData()), None)
        if chosen is not None:
            self._profile = chosen.key
            self._apply(chosen)
            self._edited()

    def _apply(self, profile: Profile) -> None:
        with QSignalBlocker(self.threshold):
            self.threshold.setValue(profile.point.threshold)
        self._point = profile.point
        self.point_wanted.emit(profile.point)

    @Slot()
    def _edit_profile(self) -> None:
        self._point = replace(self._point, layer_thresholds=())
        self.find_profile()
        self.changed.emit()

    @Slot()
    def _edited(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        used, rows = uses(self.used), self._rows
        by_predictors = self.used.needs_parts
        rows.show_row(self.profile, by_predictors)
        rows.show_row(self.threshold, Input.THRESHOLD in used)
        rows.show_row(self.confidence, Input.CONFIDENCE in used)
        rows.show_row(self._fixed, Input.FIXED_LAYER in used)
        self.own.setVisible(Input.CUSTOM in used)
        rows.show_row(self.kv_policy, Input.KV_POLICY in used)
        self._show_profiles()
        if by_predictors:
            self._show_measured()
        else:
            self.measured.clear()

    def _show_profiles(self) -> None:
        """“custom” cannot be chosen, only come about."""
        known = [Choice(one.key, one.key, one.tip) for one in self._profiles]
        if self._depth is None:
            known.insert(0, Choice(FOLLOW_MODEL, FOLLOW_MODEL, "What the model recommends, once it is loaded"))
        fill(self.profile, [*known, Choice(CUSTOM, CUSTOM, "Values of your own")])
        enable_row(self.profile, len(known), False)
        if not choose(self.profile, self._profile):
            choose(self.profile, known[0].value if self._profile == FOLLOW_MODEL else CUSTOM)

    def _show_measured(self) -> None:
        point = measured_at(self._frontier, self._entered())
        if point is not None:
            depth = f" of {self._depth}" if self._depth else ""
            self.measured.show_remark(f"{point.agreement:.1%} agreement, mean exit {point.mean_exit_layer:.1f}{depth}")
            self.measured.setToolTip(
                f"Measured on prompts kept for tuning, with a predictor on every layer: {point.early:.0%} of tokens "
                f"leave early, with {point.verifications:.2f} checks a token"
            )
        elif self._frontier:
            self.measured.show_remark("Not measured at these values")
            self.measured.setToolTip("Model ▸ Trained parts… shows what was measured")
        else:
            self.measured.clear()
