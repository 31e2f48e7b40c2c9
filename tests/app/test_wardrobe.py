"""The stylesheet, given to the window part by part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings, QSize
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app import icons
from app import wardrobe as wardrobes
from app.look import Look
from app.main_window import MainWindow
from app.places import COSTS, LEDGER, WHY
from app.settings import Preferences, ThemeMode
from app.theming import Theming
from app.wardrobe import Wardrobe
from tests.app.window_stage import WindowStage, undress
from widgets import theme as looks
from widgets.palette import DARK, LIGHT, Theme


@pytest.fixture(scope="module")
def theming(qapp: QApplication) -> Iterator[Theming]:
    theming = Theming(qapp, ThemeMode.DARK)
    yield theming
    undress(theming)


@pytest.fixture
def stage(theming: Theming, qtbot: QtBot) -> Iterator[WindowStage]:
    theming.choose(ThemeMode.DARK)
    stage = WindowStage(qtbot)
    theming.attach(stage.window)
    assert theming.wardrobe is not None
    theming.wardrobe.flush()
    yield stage
    stage.window.close()


@pytest.fixture
def wardrobe(stage: WindowStage, theming: Theming) -> Wardrobe:
    assert theming.wardrobe is not None
    return theming.wardrobe


def sheet_of(theme: Theme) -> str:
    return looks.stylesheet(theme, QApplication.font().pointSizeF())


def worn(widget: QWidget) -> list[str]:
    """The sheets of the theme that a widget wears, its own and those of what it lies in, from inside to outside."""
    chain = [widget]
    while (parent := chain[-1].parentWidget()) is not None:
        chain.append(parent)
    return [one.styleSheet() for one in chain if "QToolTip" in one.styleSheet()]


def undressed(stage: WindowStage, theme: Theme) -> list[QWidget]:
    """What is in sight and does not wear just this theme; the grounds of the window have only the palette's colours."""
    window, host = stage.window, stage.window.host
    grounds = {window, window.centralWidget(), host}
    seen = [one for one in QApplication.allWidgets() if not one.visibleRegion().isEmpty()]  # behind others is visible
    return [one for one in seen if one not in grounds and worn(one) != [sheet_of(theme)]]


def test_that_all_that_is_in_sight_wears_the_theme_from_the_launch_and_after_a_change(
    stage: WindowStage, wardrobe: Wardrobe
) -> None:
    assert worn(stage.window.prompt.text) != []
    stage.trigger("theme_light")
    wardrobe.flush()
    assert undressed(stage, LIGHT) == []
    grounds = stage.window, stage.window.centralWidget(), stage.window.host
    assert [one.styleSheet() for one in grounds] == ["", "", ""], "else all that lies on them is styled anew"


def test_that_what_opens_after_a_change_is_dressed_before_it_is_seen(
    stage: WindowStage, wardrobe: Wardrobe, qtbot: QtBot
) -> None:
    stage.trigger("theme_light")
    wardrobe.flush()
    dialog = QDialog(stage.window)
    field = QLineEdit(dialog)
    menu = QMenu(stage.window)
    menu.addAction("Do")
    for opened in (dialog, menu):
        opened.show()
    assert undressed(stage, LIGHT) == []
    assert field.palette().text().color().name() == LIGHT.text
    stage.trigger("theme_dark")
    for opened in (dialog, menu):
        with qtbot.waitSignal(opened.destroyed):
            opened.deleteLater()
    wardrobe.flush()
    assert undressed(stage, DARK) == [], "what is gone meanwhile is left out"


def test_that_the_window_shows_itself_as_it_was_until_all_of_it_is_dressed_a_part_a_frame(
    stage: WindowStage, wardrobe: Wardrobe, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setattr(wardrobes, "TURN_MS", 0)
    dressed: list[QWidget] = []
    put_on = wardrobe._put_on
    monkeypatch.setattr(wardrobe, "_put_on", lambda part: (dressed.append(part), put_on(part)))
    stage.trigger("theme_light")
    assert not stage.window.updatesEnabled()
    assert dressed == []
    wardrobe._throttle.tick()
    assert len(dressed) == 1
    assert undressed(stage, LIGHT) != []
    qtbot.waitUntil(stage.window.updatesEnabled)
    assert undressed(stage, LIGHT) == []


def test_that_the_screen_shows_the_theme_though_painting_was_due_when_it_was_held(
    stage: WindowStage, wardrobe: Wardrobe, qtbot: QtBot
) -> None:
    """Not a grab, which paints: what is on the screen."""
    with qtbot.waitExposed(stage.window):
        stage.window.show()
    QApplication.processEvents()
    stage.window.update()  # as the menu does, in which the theme is chosen
    stage.trigger("theme_light")
    qtbot.waitUntil(lambda: stage.window.updatesEnabled() and wardrobe._throttle.idle)
    qtbot.wait(50)
    seen = stage.window.screen().grabWindow(stage.window.winId()).toImage()
    assert seen.pixelColor(stage.window.width() // 2, stage.window.height() - 4).name() in (LIGHT.window, LIGHT.surface)


def test_that_a_panel_out_of_sight_is_dressed_when_it_is_seen(stage: WindowStage, wardrobe: Wardrobe) -> None:
    behind, hidden = (stage.window.panels[place.key] for place in (LEDGER, COSTS))
    stage.window.panels[WHY.key].raise_()
    hidden.close()
    QApplication.processEvents()
    stage.trigger("theme_light")
    wardrobe.flush()
    assert sheet_of(LIGHT) not in (behind.styleSheet(), hidden.styleSheet())
    behind.raise_()
    hidden.show()
    hidden.raise_()
    QApplication.processEvents()
    assert undressed(stage, LIGHT) == []
    assert behind.styleSheet() == hidden.styleSheet() == sheet_of(LIGHT)


def test_that_type_is_of_its_size_in_every_part_from_the_launch(theming: Theming, qtbot: QtBot) -> None:
    theming.take_look(Look(zoom=150))
    try:
        window = MainWindow(Preferences(QSettings()))
        qtbot.addWidget(window)
        window.preferences.desk.look = Look(zoom=150)
        theming.attach(window)
        window.show()
        assert window.prompt.text.font().pointSizeF() == pytest.approx(QApplication.font().pointSizeF())
        assert window.menuBar().font().pointSizeF() == pytest.approx(QApplication.font().pointSizeF())
        window.close()
    finally:
        theming.take_look(Look())


def test_that_a_screen_with_other_pixels_that_comes_later_has_sharp_icons(
    stage: WindowStage, theming: Theming, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = (stage.window.commands["stop"], stage.window.panels[WHY.key].header.hide_button)
    sharp = QSize(20 * 3, 20 * 3)
    assert not any(sharp in one.icon().availableSizes() for one in shown)
    monkeypatch.setattr(icons, "ratios", lambda: {1.0, 3.0})
    theming.follow_screens()
    assert all(sharp in one.icon().availableSizes() for one in shown)
    monkeypatch.setattr(icons, "ratios", lambda: {1.0})
    theming.follow_screens()
    assert all(sharp in one.icon().availableSizes() for one in shown), "what is sharp on any screen stays"


def test_that_screens_that_come_are_followed(theming: Theming, qapp: QApplication) -> None:
    assert icons.follow_screens() is False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(icons, "ratios", lambda: {2.5})
        qapp.screenAdded.emit(qapp.primaryScreen())
        assert icons.follow_screens() is False, "they are followed already"
    icons._sizes.cache_clear()
