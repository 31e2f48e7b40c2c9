"""The settings form beside models of several kinds."""

from __future__ import annotations

from dataclasses import replace

from pytestqt.qtbot import QtBot

from app.settings_dock import ModelFacts, SettingsPanel
from tests.app.cards import card

FACTS = ModelFacts("fake", depth=12, context=256, has_parts=True, parts="for this model")
BARE = ModelFacts("fake", depth=12, context=256, has_parts=False, parts_problem="Train it with `specee-viewer train`.")
MEASURED = replace(FACTS, card=card(), pieces=frozenset({"adainfer"}))
WHOLE = replace(MEASURED, pieces=frozenset({"adainfer", "lens", "slim", "trimmed"}))


def shown_form(qtbot: QtBot) -> SettingsPanel:
    """The form of a model with parts, all of it unfolded."""
    form = SettingsPanel()
    qtbot.addWidget(form)
    form.show()
    form.set_model(FACTS)
    form.set_unfolded(["scheduler", "checks", "tree", "sampling", "model"])
    return form
