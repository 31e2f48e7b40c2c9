"""What the program is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.forms import labelled
from app.icons import app_icon
from core.version import version

ABOUT = (
    "<p>Runs SpecEE, early exit by speculation, on a real language model and shows why each token stopped where it "
    "did.</p><p>After Xu et al., <i>SpecEE: Accelerating Large Language Model Inference with Speculative Early "
    "Exiting</i>, ISCA 2025 (arXiv 2504.08850).</p><p>Apache License 2.0. Made with PyTorch, transformers, Qt for "
    "Python (LGPL) and pyqtgraph.</p>"
)


def about_dialog(parent: QWidget) -> QDialog:
    """Name, version, source of the method, licence."""
    dialog, column = _dialog("About specee-viewer", parent)
    sign = QLabel()
    sign.setPixmap(app_icon().pixmap(64, 64))
    words = QVBoxLayout()
    words.addWidget(labelled(f"specee-viewer {version()}", "title"))
    text = QLabel(ABOUT)
    text.setWordWrap(True)
    text.setMinimumWidth(380)
    text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    words.addWidget(text)
    row = QHBoxLayout()
    row.setSpacing(18)
    row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
    row.addLayout(words, 1)
    column.insertLayout(0, row)
    return dialog


def _dialog(title: str, parent: QWidget) -> tuple[QDialog, QVBoxLayout]:
    dialog = QDialog(parent)
    dialog.setWindowTitle(title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(22, 20, 22, 16)
    column.setSpacing(16)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    column.addWidget(buttons)
    return dialog, column
