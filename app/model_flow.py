"""How the user gets a model: the menu, the dialogs, and what follows from each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileInfo, QObject, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog

from app.failure import Failure
from app.loader import LoadedSummary, ModelMissing, ModelRequest
from app.main_window import MainWindow
from app.model_dialog import ModelDialog, Offer
from app.model_form import LoadOptions
from app.parts_dialog import PartsDialog
from app.run_state import RunState
from app.session import Session
from app.settings_dock import ModelFacts
from app.text_dialog import TextDialog
from core.config import DEFAULT_MODEL
from core.progress import Progress

DEFAULT_TITLE = "SmolLM2-135M-Instruct"


class ModelFlow(QObject):
    """Opens models through the session, asks before anything is downloaded, and remembers what was opened."""

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self._session = session
        self._window = window
        self._preferences, self._form = window.preferences, window.form
        self.dialog: ModelDialog | None = None
        self._wanted = ModelRequest()
        self._connect()

    def open(self, ref: str, *, fetch: bool = False, parts: Path | None = None) -> None:
        """Load a model; one that would have to be downloaded is asked about first.

        `parts` is the folder of trained parts to use; None looks for those that fit.
        """
        options = self._form.load_options()
        self._wanted = ModelRequest(
            ref, dtype=options.dtype, threads=options.threads, device=options.device, fetch=fetch, parts_folder=parts
        )
        self._session.load_model(self._wanted)

    def take_failure(self, failure: Failure) -> bool:
        """Show a failed load in the open model dialog; False where it is for another dialog to show.

        One that the user cannot put right has details, for which the model dialog has no place.
        """
        if self.dialog is None or not self.dialog.isVisible() or not failure.user_error:
            return False
        self.dialog.show_error(failure.sentence)
        return True

    def _connect(self) -> None:
        actions, session, recent = self._window.commands, self._session, self._window.recent
        actions["default_model"].triggered.connect(self._open_default)
        actions["open_folder"].triggered.connect(self._open_folder)
        actions["open_gguf"].triggered.connect(self._open_gguf)
        actions["open_hub"].triggered.connect(self._open_hub)
        actions["reload"].triggered.connect(self.reload)
        actions["parts"].triggered.connect(self.show_parts)
        self._form.reload_requested.connect(self.reload)
        self._form.parts_requested.connect(self.show_parts)
        recent.aboutToShow.connect(self._fill_recent)
        recent.triggered.connect(self._open_recent)
        session.model_missing.connect(self._offer)
        session.model_changed.connect(self._loaded)
        session.progressed.connect(self._progressed)
        session.state_changed.connect(self._state_changed)

    @Slot()
    def reload(self) -> None:
        """Load the present model again with the dtype and threads of the form."""
        model = self._session.model
        if model is None:
            self.open(self._preferences.model)
        else:
            self.open(model.request.ref, parts=model.request.parts_folder)

    def use_parts(self, folder: Path) -> None:
        """Load the present model again, with the trained parts of a folder."""
        if (model := self._session.model) is not None:
            self.open(model.request.ref, parts=folder)

    @Slot()
    def show_parts(self) -> None:
        """Show what the loaded model's trained parts say of themselves, or how to make some."""
        model = self._session.model
        PartsDialog(facts_of(model) if model else None, self._window).open()

    @Slot()
    def _open_default(self) -> None:
        self.open(DEFAULT_MODEL)

    @Slot()
    def _open_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self._window, "Open a model folder", self._start_folder())
        if folder:
            self.open(folder)

    @Slot()
    def _open_gguf(self) -> None:
        file, _ = QFileDialog.getOpenFileName(
            self._window, "Open a GGUF file", self._start_folder(), "GGUF files (*.gguf);;All files (*)"
        )
        if file:
            self.open(file)

    @Slot()
    def _open_hub(self) -> None:
        label = "Hugging Face id, for example HuggingFaceTB/SmolLM2-360M-Instruct"
        dialog = TextDialog(
            "Open from the hub", label, ("&Open", "Fetch it, if it is not here, and load it"), self._window
        )
        dialog.given.connect(self.open)
        dialog.open()

    @Slot(QAction)
    def _open_recent(self, action: QAction) -> None:
        self.open(str(action.data()))

    @Slot()
    def _fill_recent(self) -> None:
        recent = self._window.recent
        recent.clear()
        for ref in self._preferences.recent_models:
            recent.addAction(ref).setData(ref)
        if recent.isEmpty():
            recent.addAction("none yet").setEnabled(False)

    def _start_folder(self) -> str:
        for ref in self._preferences.recent_models:
            if QFileInfo(ref).exists():  # Path complains of what is too long for a name
                return str(Path(ref).parent)
        return str(Path.home())

    @Slot(object)
    def _offer(self, missing: ModelMissing) -> None:
        self._close_dialog()
        dialog = ModelDialog(_offer_of(missing), self._window.theme, self._window)
        dialog.download_requested.connect(self._download)
        dialog.folder_requested.connect(self._open_folder)
        dialog.gguf_requested.connect(self._open_gguf)
        dialog.hub_requested.connect(self._open_hub)
        dialog.cancel_requested.connect(self._session.cancel_load)
        self.dialog = dialog
        self._wanted = ModelRequest(missing.ref)
        dialog.open()

    @Slot()
    def _download(self) -> None:
        self.open(self._wanted.ref, fetch=True)

    @Slot(object)
    def _progressed(self, progress: Progress) -> None:
        if self.dialog is not None:
            self.dialog.show_progress(progress)

    @Slot(object)
    def _state_changed(self, state: RunState) -> None:
        if self.dialog is None or not self.dialog.isVisible():
            return
        if state is RunState.LOADING:
            self.dialog.start("Starting")
        else:
            self.dialog.show_choice()

    @Slot(object)
    def _loaded(self, summary: LoadedSummary) -> None:
        self._preferences.remember_model(summary.request.ref)
        request = summary.request
        self._form.set_load_options(LoadOptions(request.dtype, request.threads, request.device))
        self._close_dialog()

    def _close_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.show_choice()  # a busy dialog would take closing for cancelling
            self.dialog.close()
            self.dialog.deleteLater()
            self.dialog = None


def _offer_of(missing: ModelMissing) -> Offer:
    default = missing.ref == DEFAULT_MODEL
    return Offer(
        name=DEFAULT_TITLE if default else missing.ref,
        size=f"{missing.size / 1e6:.0f} MB" if missing.size else "as large as the model; its page on the hub says",
        licence=missing.licence or "see the model’s page on the hub",
        source="Python Package Index, checked against its known SHA-256" if default else "Hugging Face hub",
        default=default,
    )


def facts_of(summary: LoadedSummary) -> ModelFacts:
    """What the settings must know of the loaded model."""
    info = summary.info
    folder = summary.request.parts_folder
    words = folder.name if folder else "for this model"
    return ModelFacts(
        name=info.name,
        depth=info.depth,
        context=info.context,
        has_parts=summary.has_parts,
        parts_problem=summary.parts_problem,
        parts=words if summary.has_parts else "",
        card=summary.parts_card,
        pieces=summary.parts_pieces,
        pieces_problems=summary.pieces_problems,
        devices=summary.devices,
    )
