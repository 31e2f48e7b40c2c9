"""The stylesheet and the palette, made from one `Theme`.

Widgets ask for a look through the dynamic property `role`, never through colours of their own:

- `QPushButton`, `QToolButton`: `role="primary"`, the one accented button of a window;
- `QToolButton`: `role="quiet"`, a small one in a panel's header; `role="segment"`, one of a row to choose from, with
  `end="left"` and `end="right"` at its ends; `role="slim"`, an icon that has little room; `bare="true"` besides, where
  a small one has an icon and nothing else;
- `QLabel`: `role="title"` (bold), `role="muted"`, `role="caution"`, `role="error"`;
- `QTextEdit`: `role="plain"`, text that is read and copied, without a field around it.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from string import Template

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPalette
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit

import resources
from widgets.palette import Theme

RADIUS = 6
"""Corner radius of cards in pixels; controls inside use less."""

SMALL = 0.88
"""Size of subtitles, legends and notes, as a share of the application's font."""

RESTYLED = (QEvent.Type.StyleChange, QEvent.Type.FontChange)
"""A widget's changes after which its type may have another size: a stylesheet that brings one is no change of font."""

EVERYWHERE = """
QMainWindow::separator { background: transparent; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: rgba(110, 190, 255, 30%); }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
"""
"""Worn by the application. It must never change, or every widget is styled anew: its colour suits every theme. Desktops
would put icons of their own on the buttons of dialogs, black ones in a dark window."""

_USUAL_SIZE = "usualPointSize"
"""Under what the application keeps the size of type that the desktop asks for."""


def begin(app: QApplication) -> None:
    """Choose the style that stylesheets build on, before there is a widget: each would be styled anew.

    The platforms' own draw parts of spin and combo boxes themselves, and would mix two looks.
    """
    app.setStyle("Fusion")


def apply(app: QApplication, theme: Theme) -> None:
    """Give the whole application the colours of this theme; parts of windows wear the stylesheet, each by itself."""
    if not app.styleSheet():  # once is enough
        app.setStyleSheet(EVERYWHERE)
    app.setPalette(palette(theme))


def scale(app: QApplication, factor: float) -> None:
    """Make the application's type so many times as large as the desktop's; `apply` brings it into the stylesheet."""
    usual = app.property(_USUAL_SIZE)
    if usual is None:
        usual = app.font().pointSizeF()
        app.setProperty(_USUAL_SIZE, usual)
    font = app.font()
    font.setPointSizeF(usual * factor)
    app.setFont(font)


def pad(spin_box: QAbstractSpinBox) -> None:
    """Set the number off from the frame; a stylesheet's padding does not reach the text of a spin box."""
    editor = spin_box.findChild(QLineEdit)
    if editor is not None:
        editor.setTextMargins(6, 0, 0, 0)


def palette(theme: Theme) -> QPalette:
    """Colours for what no stylesheet reaches: links, placeholders, selections in texts, plain painters."""
    made = QPalette()
    for role, colour in _palette_roles(theme).items():
        made.setColor(role, QColor(colour))
    faint = QColor(mixed(theme.muted, theme.surface, 0.35))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, faint)
    return made


def _palette_roles(theme: Theme) -> dict[QPalette.ColorRole, str]:
    role = QPalette.ColorRole
    return {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.surface,
        role.AlternateBase: theme.raised,
        role.Text: theme.text,
        role.Button: theme.surface,
        role.ButtonText: theme.text,
        role.BrightText: theme.wrong,
        role.ToolTipBase: theme.raised,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Highlight: theme.selection,
        role.HighlightedText: theme.text,
        role.Accent: theme.accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Light: theme.raised,
        role.Midlight: theme.line,
        role.Mid: theme.line,
        role.Dark: theme.line,
        role.Shadow: theme.window,
    }


@cache
def mixed(first: str, second: str, share: float) -> str:
    """The colour `share` of the way from `first` to `second`, as `#rrggbb`."""
    a, b = QColor(first), QColor(second)
    parts = zip(
        (a.redF(), a.greenF(), a.blueF()),
        (b.redF(), b.greenF(), b.blueF()),
        strict=True,
    )
    return QColor.fromRgbF(*(x + (y - x) * share for x, y in parts)).name()


def stylesheet(theme: Theme, font_point_size: float) -> str:
    """What each part of a window wears; sizes that differ from the base font follow `font_point_size`."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font_point_size)
    row = math.ceil(QFontMetricsF(font).height()) + 2  # as high as a combo box asks; less would cut letters off
    return _SHEET.substitute(
        row=row,
        window=theme.window,
        surface=theme.surface,
        raised=theme.raised,
        line=theme.line,
        field=theme.window if theme.name == "dark" else theme.surface,
        border=mixed(theme.line, theme.muted, 0.35),
        text=theme.text,
        muted=theme.muted,
        faint=mixed(theme.muted, theme.surface, 0.35),
        accent=theme.accent,
        accent_hover=mixed(theme.accent, theme.text, 0.18),
        accent_pressed=mixed(theme.accent, theme.window, 0.18),
        on_accent=theme.on_accent,
        caution=theme.caution,
        wrong=theme.wrong,
        selection=theme.selection,
        small=f"{font_point_size * SMALL:.2f}",
        radius=RADIUS,
        up=_icon(f"chevron-up-{theme.name}"),
        down=_icon(f"chevron-down-{theme.name}"),
        left=_icon(f"chevron-left-{theme.name}"),
        right=_icon(f"chevron-right-{theme.name}"),
        check=_icon(f"check-{theme.name}"),
    )


def _icon(name: str) -> str:
    path = Path(resources.__file__).parent / "icons" / f"{name}.svg"
    return path.as_posix()


_SHEET = Template("""
QDialog { background: $window; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $selection; }
QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget { background: transparent; }

QLabel { background: transparent; }
QLabel[role="title"] { font-weight: 600; }
QLabel[role="muted"] { color: $muted; font-size: ${small}pt; }
QLabel[role="caution"] { color: $caution; }
QLabel[role="error"] { color: $wrong; }

QToolBar { background: $surface; border: none; border-bottom: 1px solid $line; padding: 6px 8px; spacing: 4px; }
QToolBar::separator { background: $line; width: 1px; margin: 5px 6px; }
QToolBar::handle { image: none; width: 0; }
QStatusBar { background: $surface; border-top: 1px solid $line; color: $muted; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: $muted; padding: 2px 8px; }
QStatusBar QSizeGrip { image: none; width: 0; }

QDockWidget { color: $text; font-weight: 600; }
QDockWidget::title { background: transparent; padding: 8px 10px 6px 10px; text-align: left; }
QTabBar { background: transparent; }
QTabBar::tab { color: $muted; background: transparent; border: none; border-bottom: 2px solid transparent;
    padding: 6px 12px; }
QTabBar[narrow="true"]::tab { padding: 6px; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { color: $accent; }
QTabBar::tab:bottom { border: 1px solid transparent; border-top: 2px solid transparent; padding: 4px 11px 5px 11px;
    margin-right: 2px; border-bottom-left-radius: ${radius}px; border-bottom-right-radius: ${radius}px; }
QTabBar::tab:bottom:hover { background: $raised; }
QTabBar::tab:bottom:selected { background: $surface; border-color: $line; border-top-color: $accent; }
QTabBar::tab:bottom:selected:focus { border-color: $accent; }
QTabBar::scroller { width: 40px; }
QTabBar QToolButton { background: $window; border: 1px solid $line; border-radius: 4px; padding: 0; margin: 2px 1px; }
QTabBar QToolButton:hover { background: $raised; }
QTabBar QToolButton::left-arrow { image: url("$left"); width: 9px; height: 9px; }
QTabBar QToolButton::right-arrow { image: url("$right"); width: 9px; height: 9px; }
QTabWidget::pane { border: 1px solid $line; border-radius: ${radius}px; }
QGroupBox { border: 1px solid $line; border-radius: ${radius}px; margin-top: 10px; padding: 10px 8px 8px 8px; }
QGroupBox::title { subcontrol-origin: margin; left: 8px; padding: 0 4px; color: $muted; }

QPushButton, QToolButton { color: $text; border-radius: 5px; padding: 5px 12px; border: 1px solid transparent;
    background: transparent; }
QPushButton { background: $raised; border-color: $border; min-height: ${row}px; }
QPushButton:hover, QToolButton:hover { background: $raised; border-color: $border; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: $selection; border-color: $accent; }
QPushButton:focus, QToolButton:focus { border: 2px solid $accent; padding: 4px 11px; }
QPushButton:disabled, QToolButton:disabled { color: $faint; background: transparent; }
QPushButton:disabled { border-color: $line; }
QPushButton[role="primary"], QToolButton[role="primary"] { background: $accent; color: $on_accent;
    border-color: $accent; font-weight: 600; }
QPushButton[role="primary"]:hover, QToolButton[role="primary"]:hover { background: $accent_hover;
    border-color: $accent_hover; }
QPushButton[role="primary"]:pressed, QToolButton[role="primary"]:pressed { background: $accent_pressed;
    border-color: $accent_pressed; }
QPushButton[role="primary"]:focus, QToolButton[role="primary"]:focus { border: 2px solid $text; padding: 4px 11px; }
QPushButton[role="primary"]:disabled, QToolButton[role="primary"]:disabled { background: $line; color: $faint;
    border-color: $line; }
QToolButton[role="slim"] { padding: 5px 6px; }
QToolButton[role="slim"]:focus { padding: 4px 5px; }
QToolButton[role="slim"][popupMode="1"] { padding-right: 18px; }
QToolButton[role="quiet"] { color: $muted; padding: 1px 6px; font-size: ${small}pt; }
QToolButton[role="quiet"]:hover { color: $text; }
QToolButton[role="quiet"]:focus { border: 1px solid $accent; padding: 1px 6px; }
QToolButton[role="quiet"]:disabled { color: $faint; }
QToolButton[bare="true"], QToolButton[bare="true"]:focus { padding: 2px; }
QToolButton[role="segment"] { color: $muted; background: transparent; border: 1px solid $border; border-radius: 0;
    padding: 1px 7px; font-size: ${small}pt; }
QToolButton[end="left"] { border-top-left-radius: 5px; border-bottom-left-radius: 5px; }
QToolButton[end="right"] { border-top-right-radius: 5px; border-bottom-right-radius: 5px; }
QToolButton[role="segment"]:hover { color: $text; background: $raised; }
QToolButton[role="segment"]:checked { color: $text; background: $selection; border-color: $accent; }
QToolButton[role="segment"]:focus { color: $text; border: 1px solid $text; padding: 1px 7px; }
QToolButton[role="segment"]:disabled { color: $faint; background: transparent; border-color: $line; }
QToolButton[popupMode="1"] { padding-right: 24px; }
QToolButton[popupMode="2"] { padding-right: 22px; }
QToolButton::menu-button { border: none; width: 18px; }
QToolButton::menu-arrow, QToolButton::menu-indicator, QPushButton::menu-indicator { image: url("$down");
    width: 10px; height: 10px; }
QToolButton::menu-indicator, QPushButton::menu-indicator { subcontrol-origin: padding;
    subcontrol-position: center right; right: 7px; }

QLineEdit, QPlainTextEdit, QTextEdit, QTextBrowser, QSpinBox, QDoubleSpinBox, QComboBox {
    color: $text; background: $field; border: 1px solid $border; border-radius: 5px;
    selection-background-color: $selection; selection-color: $text; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { padding: 4px 8px; min-height: ${row}px; }
QSpinBox, QDoubleSpinBox { padding: 2px 8px 3px 8px; }
QPlainTextEdit, QTextEdit, QTextBrowser { padding: 4px 5px; }
QLineEdit:hover, QPlainTextEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover, QComboBox:hover { border-color: $muted; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 2px solid $accent;
    padding: 3px 7px; }
QPlainTextEdit:focus, QTextEdit:focus, QTextBrowser:focus { border: 2px solid $accent; padding: 3px 4px; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled,
    QComboBox:disabled {
    color: $faint; background: transparent; border-color: $line; }
QTextEdit[role="plain"] { background: transparent; border: 1px solid transparent; padding: 0 2px; }
QTextEdit[role="plain"]:focus { border: 1px solid $accent; padding: 0 2px; }

QSpinBox, QDoubleSpinBox { padding-right: 24px; }
QSpinBox:focus, QDoubleSpinBox:focus { padding: 1px 23px 2px 7px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    subcontrol-origin: border; width: 22px; background: transparent; border: none; border-left: 1px solid $border; }
QAbstractSpinBox::up-button { subcontrol-position: top right; margin: 1px 1px 0 0; border-top-right-radius: 4px; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; margin: 0 1px 1px 0;
    border-bottom-right-radius: 4px; border-top: 1px solid $border; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $raised; }
QAbstractSpinBox::up-button:pressed, QAbstractSpinBox::down-button:pressed { background: $selection; }
QAbstractSpinBox::up-arrow { image: url("$up"); width: 9px; height: 9px; }
QAbstractSpinBox::down-arrow { image: url("$down"); width: 9px; height: 9px; }

QComboBox { padding-right: 24px; }
QComboBox:focus { padding-right: 23px; }
QComboBox::drop-down { subcontrol-origin: border; subcontrol-position: center right; width: 24px; border: none; }
QComboBox::down-arrow { image: url("$down"); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border; padding: 4px; outline: none; }

QCheckBox, QRadioButton { color: $text; spacing: 8px; padding: 2px; border: 1px solid transparent;
    border-radius: 4px; }
QCheckBox:focus, QRadioButton:focus { border-color: $accent; }
QCheckBox:disabled, QRadioButton:disabled { color: $faint; }
QCheckBox::indicator, QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid $muted;
    background: $field; }
QCheckBox::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$check"); }
QRadioButton::indicator:checked { background: $on_accent; border: 4px solid $accent; width: 8px; height: 8px; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $line; background: $line; }

QAbstractItemView { background: $surface; alternate-background-color: $raised; color: $text; border: 1px solid $line;
    border-radius: ${radius}px; gridline-color: $line; selection-background-color: $selection;
    selection-color: $text; }
QAbstractItemView:focus { border-color: $accent; }
QAbstractItemView::item { padding: 3px 8px; }
QAbstractItemView::item:hover { background: $raised; }
QAbstractItemView::item:selected { background: $selection; color: $text; }
QAbstractItemView::indicator { width: 14px; height: 14px; border: 1px solid $muted; border-radius: 4px;
    background: $field; }
QAbstractItemView::indicator:hover { border-color: $accent; }
QAbstractItemView::indicator:checked { background: $accent; border-color: $accent; image: url("$check"); }
QHeaderView { background: $surface; border: none; }
QHeaderView::section { background: $surface; color: $muted; border: none; border-bottom: 1px solid $line;
    padding: 5px 8px; }
QTableCornerButton::section { background: $surface; border: none; border-bottom: 1px solid $line; }

QMenuBar { background: $surface; color: $text; }
QMenuBar::item { padding: 5px 10px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected { background: $selection; }
QMenu { background: $surface; color: $text; border: 1px solid $border; padding: 5px; }
QMenu::item { padding: 5px 26px 5px 26px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 5px 8px; }
QToolTip { background: $raised; color: $text; border: 1px solid $border; padding: 5px 7px; }

QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: $border; border-radius: 3px; margin: 3px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }

QProgressBar { background: $line; color: $text; border: none; border-radius: 3px; min-height: 6px;
    max-height: 6px; text-align: center; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QSlider::groove:horizontal { background: $line; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal { background: $text; border: 2px solid $surface; width: 12px; height: 12px;
    margin: -6px 0; border-radius: 8px; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: $accent; }
""")
