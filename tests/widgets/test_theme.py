from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QFont, QIcon, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QDoubleSpinBox,
    QLineEdit,
    QProxyStyle,
    QSpinBox,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QWidget,
)
from pytestqt.qtbot import QtBot

from widgets import theme as themes
from widgets.palette import DARK, LIGHT, Theme

BOTH = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2.2, 1…21."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF())
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@BOTH
def test_that_every_image_of_the_stylesheet_is_there_and_can_be_drawn(qapp: QApplication, theme: Theme) -> None:
    images = set(re.findall(r'url\("([^"]+)"\)', themes.stylesheet(theme, 10)))
    assert len(images) == 5
    for image in images:
        assert Path(image).is_file()
        assert not QIcon(image).pixmap(12, 12).isNull()


@BOTH
def test_that_no_placeholder_is_left_in_the_stylesheet(qapp: QApplication, theme: Theme) -> None:
    assert "$" not in themes.stylesheet(theme, 10)


def test_that_small_text_follows_the_applications_font(qapp: QApplication) -> None:
    assert "font-size: 8.80pt" in themes.stylesheet(DARK, 10)
    assert "font-size: 17.60pt" in themes.stylesheet(DARK, 20)


@pytest.mark.parametrize("points", [9.0, 13.5, 18.0])
def test_that_inputs_stand_in_rows_of_one_height_and_are_never_lower_than_their_text(
    qtbot: QtBot, points: float
) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    font = QFont(QApplication.font())
    font.setPointSizeF(points)
    holder.setFont(font)
    fields = [QComboBox(holder), QSpinBox(holder), QDoubleSpinBox(holder), QLineEdit(holder)]
    holder.setStyleSheet(themes.stylesheet(DARK, points))
    holder.ensurePolished()
    holder.show()
    heights = [max(field.minimumHeight(), field.sizeHint().height()) for field in fields]
    assert max(heights) - min(heights) <= 2
    assert all(field.minimumHeight() >= field.fontMetrics().height() + 8 for field in fields)


@BOTH
def test_that_text_can_be_read_on_every_surface(theme: Theme) -> None:
    for surface in (theme.window, theme.surface, theme.raised):
        for text in (theme.text, theme.muted, theme.wrong, theme.caution):
            assert contrast(text, surface) >= 4.5
    assert contrast(theme.text, theme.selection) >= 4.5
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@BOTH
def test_that_the_application_takes_over_the_colours_and_styles_no_widget_anew(
    qapp: QApplication, theme: Theme
) -> None:
    themes.apply(qapp, theme)
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == theme.window
    assert qapp.styleSheet() == themes.EVERYWHERE, "every widget would be styled once for each that it lies in"


class DesktopStyle(QProxyStyle):
    """Wants icons on the buttons of dialogs, as desktops under X11 do."""

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returned: QStyleHintReturn | None = None,
    ) -> int:
        if hint is QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons:
            return 1
        return super().styleHint(hint, option, widget, returned)


def test_that_no_icon_of_the_desktop_s_is_on_a_dialog_s_buttons(qapp: QApplication, qtbot: QtBot) -> None:
    themes.apply(qapp, DARK)
    box, style = QDialogButtonBox(), DesktopStyle("Fusion")
    qtbot.addWidget(box)
    box.setStyle(style)
    box.setStandardButtons(QDialogButtonBox.StandardButton.Close)
    assert box.button(QDialogButtonBox.StandardButton.Close).icon().isNull()


def test_that_mixing_starts_at_the_first_colour_and_ends_at_the_second() -> None:
    assert themes.mixed("#000000", "#ffffff", 0) == "#000000"
    assert themes.mixed("#000000", "#ffffff", 0.5) == "#808080"
    assert themes.mixed("#000000", "#ffffff", 1) == "#ffffff"


def test_that_a_padded_spin_box_sets_its_number_off_from_the_frame(qtbot: QtBot) -> None:
    box = QDoubleSpinBox()
    qtbot.addWidget(box)
    themes.pad(box)
    editor = box.findChild(QLineEdit)
    assert editor is not None
    assert editor.textMargins().left() > 0
