"""The log panel: what happened in this window, to be copied and cleared."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.tools.tool import Tool
from widgets.log_view import LogView
from widgets.palette import Theme

SUBTITLE = "newest last · ▲ warning · ✕ error"
NOTHING = "Nothing has happened yet.\nModels, runs, files, warnings and errors will be noted here."


class Log(Tool):
    """Shows the window's log book, which goes on while this panel is out of sight."""

    def build(self) -> QWidget:
        rows = self.work.log.rows
        self.view = LogView(rows)
        self.panel.add_action(self.view.copy_action)
        self.panel.add_action(self.view.clear_action)
        self.panel.set_subtitle(SUBTITLE)
        rows.rowsInserted.connect(self._show)
        rows.modelReset.connect(self._show)
        self.view.scrollToBottom()
        return self.view

    def draw(self, first: int | None) -> str | None:
        some = bool(self.work.log.rows.rowCount())
        self.view.copy_action.setEnabled(some)
        self.view.clear_action.setEnabled(some)
        return None if some else NOTHING

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    def _show(self) -> None:
        self.panel.set_empty(self.draw(None))
