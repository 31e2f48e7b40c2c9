"""The toolbar: the model, the run's controls, and the scrubber over its tokens."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QSlider, QToolBar, QToolButton, QWidget

from app.actions import Actions
from app.forms import named
from app.icons import icon
from app.travel_button import ReplayButton
from widgets.palette import Theme
from widgets.selection import Selection
from widgets.theme import mixed

MODEL_WIDTH = 230
SCRUBBER_WIDTH = 280
LEAST_SCRUBBER = 48
LONGEST_RUN = "Continue"
"""What the Run button may come to say; it keeps the room for it, so that nothing beside it moves."""
PLAIN = ("pause", "step_token", "step_layer", "stop", "reset")
NO_LIMIT = 16_777_215
"""A widget's greatest width where none was set."""
PADDING = 12
"""Beside the position's words, which are a button."""


class Scrubber(QWidget):
    """A slider over the tokens, with the selected one's number."""

    moved = Signal(int)
    """The 0-based token that the user chose."""

    def __init__(self, actions: Actions, replay: ReplayButton, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = named(QSlider(Qt.Orientation.Horizontal), "Token", "Choose a token (Alt+Left, Alt+Right)")
        self.slider.setRange(0, 0)
        self.slider.setMinimumWidth(LEAST_SCRUBBER)
        self.slider.setMaximumWidth(SCRUBBER_WIDTH)
        self.slider.valueChanged.connect(self.moved)
        self.label = _Position(actions["goto_token"])
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 4, 0)
        row.setSpacing(4)
        previous, following, newest = (slim(actions[f"{name}_token"]) for name in ("previous", "next", "newest"))
        self._spare = (replay, previous, following, newest)
        row.addStretch(1)
        row.addWidget(replay)
        row.addWidget(previous)
        row.addWidget(self.slider, 100)
        row.addWidget(following)
        row.addWidget(newest)
        row.addWidget(self.label)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.show_tokens(0, Selection())

    def spare_buttons(self, spare: bool) -> None:
        """Do without buttons, which menus and keys have too, or show them again."""
        for button in self._spare:
            button.setVisible(not spare)
        self.updateGeometry()  # at once: the bar asks next how much room is needed

    def show_tokens(self, count: int, selected: Selection) -> None:
        """Show `count` tokens with the selected one chosen; says nothing through `moved`."""
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, max(0, count - 1))
            self.slider.setValue(selected.token or 0)
        self.slider.setEnabled(count > 1)
        self.label.show_words(_position(count, selected))


class ToolBar(QToolBar):
    """Model ▾, Run, Pause, steps, Stop, Reset, and the scrubber at the right end."""

    def __init__(self, actions: Actions, model_menu: QMenu, parent: QWidget | None = None) -> None:
        super().__init__("Toolbar", parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setFloatable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._run_action = actions["run"]
        self.model = self._model_button(model_menu)
        self.run = self._run_button(self._run_action)
        self.replay = ReplayButton(actions)
        self.scrubber = Scrubber(actions, self.replay)
        self.addWidget(self.model)
        self.addSeparator()
        self.addWidget(self.run)
        self._plain = [action_button(actions[name], text=True) for name in PLAIN]
        for button in (self._plain[0], slim(actions["step_back_token"]), *self._plain[1:]):
            self.addWidget(button)
        self.addWidget(self.scrubber)
        # Queued: what the scrubber needs is known once it has laid itself out.
        self.scrubber.label.grew.connect(self.fit, Qt.ConnectionType.QueuedConnection)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def show_model(self, name: str) -> None:
        """Name the loaded model; a long name is cut in the middle and whole in the tooltip."""
        metrics = self.model.fontMetrics()
        self.model.setText(metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, MODEL_WIDTH) + "  ")
        self.model.setToolTip(f"{name}: choose another model")
        self.fit()

    def apply_theme(self, theme: Theme) -> None:
        """Paint the Run button's sign for its accent colour."""
        faint = mixed(theme.muted, theme.surface, 0.35)
        self.run.setIcon(icon("run", theme.on_accent, faint))
        self.model.setIcon(icon("model", theme.accent, faint))
        shown = self.run.text()
        self.run.setText(LONGEST_RUN)
        self.run.setMinimumWidth(self.run.sizeHint().width())
        self.run.setText(shown)
        self.fit()

    @Slot()
    def fit(self) -> None:
        """Where there is no room for words the signs must do without, then buttons must go: the scrubber stays."""
        words, signs = Qt.ToolButtonStyle.ToolButtonTextBesideIcon, Qt.ToolButtonStyle.ToolButtonIconOnly
        for style, spare in ((words, False), (signs, False), (signs, True)):
            self.scrubber.spare_buttons(spare)
            for button in self._plain:
                button.setToolButtonStyle(style)
            if self.sizeHint().width() <= self.width():
                return

    def _model_button(self, menu: QMenu) -> QToolButton:
        button = named(QToolButton(), "Model", "Choose a model")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setMenu(menu)
        return button

    def _run_button(self, action: QAction) -> QToolButton:
        # Not the action's own button: that one would take the action's icon, which is not made for the accent colour.
        button = QToolButton()
        button.setProperty("role", "primary")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.clicked.connect(action.trigger)
        action.changed.connect(self._follow_run_action)
        return button

    def _follow_run_action(self) -> None:
        action = self._run_action
        self.run.setText(action.text().replace("&", ""))
        self.run.setEnabled(action.isEnabled())
        self.run.setToolTip(action.toolTip())
        self.run.setStatusTip(action.statusTip())
        self.run.setAccessibleName(self.run.text())


def action_button(action: QAction, text: bool) -> QToolButton:
    """A flat button for an action; without text it is named for screen readers all the same."""
    button = QToolButton()
    button.setDefaultAction(action)
    style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if text else Qt.ToolButtonStyle.ToolButtonIconOnly
    button.setToolButtonStyle(style)
    button.setAccessibleName(action.text().replace("&", ""))
    return button


def slim(action: QAction) -> QToolButton:
    """Only the action's icon, in little room."""
    button = action_button(action, text=False)
    button.setProperty("role", "slim")
    return button


class _Position(QToolButton):
    """A button in place of a label: what it says is set from outside, what it does is the action's.

    Its size is fixed: words that change with every token would else make the whole window lay itself out each time.
    """

    grew = Signal()
    """The words need more room than any before."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        named(self, "Position", action.toolTip())
        self.setProperty("role", "slim")
        self.clicked.connect(action.trigger)

    def changeEvent(self, event: QEvent) -> None:
        """Type of another size needs other room; what was kept for the size before is given back."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and self.text():
            self.setMaximumWidth(NO_LIMIT)
            self.show_words(self.text())

    def show_words(self, words: str) -> None:
        """Say this, in more room where it needs some; room once taken is kept."""
        self.setText(words)
        least = self.fontMetrics().horizontalAdvance("token 0000 / 0000") + PADDING
        kept = self.maximumWidth() if self.maximumWidth() < NO_LIMIT else least
        wanted = QSize(max(self.sizeHint().width(), kept), self.sizeHint().height())
        if wanted != self.maximumSize():
            self.setFixedSize(wanted)
            self.grew.emit()


def _position(count: int, selected: Selection) -> str:
    if count == 0:
        return "no tokens"
    if selected.token is None:
        return f"{count} tokens" if count > 1 else "1 token"
    layer = "" if selected.layer is None else f" · layer {selected.layer + 1}"
    return f"token {selected.token + 1} / {count}{layer}"
