"""Settings over the real window: each acts at once, is there at the next launch, and goes with Reset everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.form_values import FormValues
from app.forms import WIDEST_LABEL, NumberSpin, Rows
from app.look import PROJECTOR, ZOOMS, Look
from app.question_dialog import QuestionDialog
from app.settings import ThemeMode
from app.settings_dialog import SettingsDialog
from app.theming import Theming
from app.travel import FIRST_SPEED
from core.analysis.conditions import WrongExit
from core.choices import Record
from core.report.exit_colours import ExitPalette
from tests.app.window_stage import WindowStage, undress
from widgets import motion
from widgets import theme as looks
from widgets.palette import DARK, LIGHT, exit_colours, use_exit_palette


@pytest.fixture
def theming(qapp: QApplication) -> Iterator[Theming]:
    theming = Theming(qapp, ThemeMode.DARK)
    yield theming
    theming.take_look(Look())
    undress(theming)


@pytest.fixture
def dressed(theming: Theming, qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    theming.attach(stage.window)
    yield stage
    stage.window.close()


def finish(theming: Theming) -> None:
    assert theming.wardrobe is not None
    theming.wardrobe.flush()


def test_that_type_grows_and_shrinks_by_steps_and_is_the_desktops_again(dressed: WindowStage, theming: Theming) -> None:
    usual = QApplication.font().pointSizeF()
    dressed.trigger("zoom_in")
    finish(theming)
    assert QApplication.font().pointSizeF() == pytest.approx(1.1 * usual)
    assert dressed.window.prompt.text.font().pointSizeF() == pytest.approx(1.1 * usual)
    dressed.trigger("projector")
    finish(theming)
    assert QApplication.font().pointSizeF() == pytest.approx(1.1 * PROJECTOR * usual)
    for rows in dressed.window.form.findChildren(Rows):
        assert rows.columnMinimumWidth(0) == QFontMetrics(QApplication.font()).horizontalAdvance(WIDEST_LABEL)
    for box in dressed.window.form.findChildren(NumberSpin):
        assert box.sizeHint().height() >= box.minimumSizeHint().height(), "or the number is cut"
    dressed.window.desk.appearance.take_look(Look())
    assert QApplication.font().pointSizeF() == pytest.approx(usual)
    assert not dressed.window.commands["projector"].isChecked()


def test_that_other_colours_of_exit_layers_and_stillness_restyle_no_widget(
    dressed: WindowStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    restyled: list[object] = []
    monkeypatch.setattr(looks, "apply", lambda *_: restyled.append(_))
    dressed.window.desk.appearance.take_look(Look(exits=ExitPalette.GREYS, still=True))
    assert restyled == [], "that takes up to a second"
    dressed.trigger("zoom_in")
    assert len(restyled) == 1


def test_that_steps_of_type_end_at_the_smallest_and_the_largest() -> None:
    assert [Look(zoom=zoom).zoomed(-1) for zoom in ZOOMS] == [ZOOMS[0], *ZOOMS[:-1]]
    assert [Look(zoom=zoom).zoomed(1) for zoom in ZOOMS] == [*ZOOMS[1:], ZOOMS[-1]]


def test_that_a_chosen_palette_colours_the_chips_and_bars(dressed: WindowStage) -> None:
    dressed.load()
    dressed.finish()
    before = dressed.work.views.tokens._chip.colour(1, 12).name()
    dressed.window.desk.appearance.take_look(Look(exits=ExitPalette.GREYS))
    dressed.draw()
    after = dressed.work.views.tokens._chip.colour(1, 12)
    assert after.name() != before
    assert after.red() == after.green() == after.blue()


@pytest.mark.parametrize("palette", list(ExitPalette))
def test_that_every_palette_tells_layers_apart_by_lightness_and_stands_off_both_surfaces(palette: ExitPalette) -> None:
    use_exit_palette(palette)
    try:
        light = [lightness(rgb) for rgb in exit_colours(range(1, 31), 30)]
    finally:
        use_exit_palette(ExitPalette.CIVIDIS)
    assert np.all(np.diff(light) > 0)
    assert light[-1] - light[0] > 0.35
    assert len(light) == 30


def lightness(rgb: np.ndarray) -> float:
    """Perceived, 0…1: the luma of Rec. 709."""
    return float(rgb @ np.array([0.2126, 0.7152, 0.0722]) / 255)


def test_that_the_dialog_acts_at_once_and_follows_what_is_done_elsewhere(dressed: WindowStage) -> None:
    dressed.trigger("settings")
    dialog = dressed.window.desk.appearance.dialog
    assert dialog is not None
    dialog.theme.setCurrentIndex(2)
    assert dressed.window.theme is LIGHT
    dialog.still.click()
    assert motion.is_still()
    dressed.trigger("theme_dark")
    dressed.trigger("projector")
    assert dialog.projector.isChecked()
    dialog.exits.setCurrentIndex(1)
    assert dressed.window.theme is DARK, "what another way chose stays"
    assert dressed.window.preferences.desk.look == Look(exits=ExitPalette.VIRIDIS, still=True, projector=True)
    dialog.close()
    assert dressed.window.desk.appearance.dialog is None


def test_that_the_dialog_grows_with_the_type(dressed: WindowStage, theming: Theming) -> None:
    dressed.trigger("settings")
    dialog = dressed.window.desk.appearance.dialog
    assert dialog is not None
    dressed.window.desk.appearance.take_look(Look(zoom=200, projector=True))
    finish(theming)
    dressed.qtbot.waitUntil(lambda: dialog.width() >= dialog.minimumSizeHint().width())
    for button in (dialog.reset, dialog.save, dialog.close_button):
        assert button.height() > button.fontMetrics().height()
    assert dialog.still.width() >= dialog.still.sizeHint().width()
    dialog.close()


def test_that_settings_are_there_at_the_next_launch_until_everything_is_reset(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    appearance = stage.window.desk.appearance
    wanted = replace(appearance.choices, record=Record.AUDIT, recoveries=5, look=Look(zoom=125, projector=True))
    appearance.take(wanted)
    stage.window.form.record.setCurrentIndex(0)
    stage.window.desk.keys.change("run", stage.window.commands["pause"].shortcut())
    stage.window.close()
    window = stage.open()
    assert window.desk.appearance.choices == wanted
    assert window.form.values().record is Record.AUDIT
    assert window.commands["projector"].isChecked()
    stage.work.debugging.breakpoints.add(WrongExit())
    stage.work.travel.set_speed(20)
    stage.trigger("settings")
    dialog = window.findChild(SettingsDialog)
    dialog.reset.click()
    dialog.findChild(QuestionDialog).buttons["reset"].click()
    assert window.desk.appearance.choices == replace(wanted, record=None, recoveries=None, look=Look())
    assert window.form.values() == FormValues()
    assert not len(stage.work.debugging.breakpoints)
    assert stage.work.travel.speed == FIRST_SPEED
    window.close()


def test_that_engine_settings_are_saved_loaded_and_reset_and_a_bad_file_changes_nothing(
    stage: WindowStage, tmp_path: Path
) -> None:
    appearance, form = stage.window.desk.appearance, stage.window.form
    form.max_tokens.setValue(7)
    appearance.save_to(tmp_path / "mine")
    stage.trigger("reset_settings")
    assert form.values() == FormValues()
    appearance.load_from(tmp_path / "mine.json")
    assert form.values().max_new_tokens == 7
    (tmp_path / "bad.json").write_text("{}")
    appearance.load_from(tmp_path / "bad.json")
    (error,) = stage.errors()
    assert "holds no engine settings" in error.sentence.text()
    assert form.values().max_new_tokens == 7
    error.close()


@pytest.mark.parametrize("stored", [None, 5, {}, {"zoom": 99}, {"zoom": True, "exits": 3, "still": "yes"}])
def test_that_a_stored_look_that_cannot_be_read_is_the_usual_one(stored: object) -> None:
    assert Look.from_json(stored) == Look()
    assert Look.from_json(Look(zoom=90, exits=ExitPalette.MAGMA, still=True).to_json()).zoom == 90
