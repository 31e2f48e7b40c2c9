"""The menus of sessions: what can be done with files, the recent ones, and the runs of the session."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QActionGroup

from app.main_window import MainWindow
from app.session import Session
from app.session_files import SessionFiles
from app.session_words import run_line


class SessionMenus(QObject):
    """Connects actions and menus to `SessionFiles`."""

    def __init__(self, session: Session, files: SessionFiles, window: MainWindow) -> None:
        super().__init__(window)
        self._session, self._files, self._window = session, files, window
        commands = window.commands
        commands["new_session"].triggered.connect(files.new)
        commands["open_session"].triggered.connect(files.choose)
        commands["sample"].triggered.connect(files.open_sample)
        commands["save_session"].triggered.connect(self._save)
        commands["save_session_as"].triggered.connect(self._save_as)
        window.recent_sessions.aboutToShow.connect(self._fill_recent)
        window.recent_sessions.triggered.connect(self._open_recent)
        window.runs.aboutToShow.connect(self._fill_runs)
        window.runs.triggered.connect(self._show_run)
        window.file_dropped.connect(files.open)
        window.close_asked.connect(files.leave)
        window.guard_closing()

    @Slot()
    def _save(self) -> None:
        self._files.save()

    @Slot()
    def _save_as(self) -> None:
        self._files.save_as()

    @Slot()
    def _fill_recent(self) -> None:
        menu = self._window.recent_sessions
        menu.clear()
        for name in self._window.preferences.recent_sessions:
            menu.addAction(name.replace("&", "&&")).setData(name)
        if menu.isEmpty():
            menu.addAction("none yet").setEnabled(False)

    @Slot(QAction)
    def _open_recent(self, action: QAction) -> None:
        if isinstance(action.data(), str):
            self._files.open(Path(action.data()))

    @Slot()
    def _fill_runs(self) -> None:
        menu, shown = self._window.runs, self._session.trace
        menu.clear()
        group = QActionGroup(menu)
        for title, level in self._files.library.family():
            action = menu.addAction(run_line(title, level))
            action.setData(title.number)
            action.setCheckable(True)
            action.setChecked(shown is not None and shown.started is not None and shown.started.run == title.number)
            group.addAction(action)
        if menu.isEmpty():
            menu.addAction("none yet").setEnabled(False)

    @Slot(QAction)
    def _show_run(self, action: QAction) -> None:
        if isinstance(action.data(), int):
            self._files.show_run(action.data())
