"""What of a token tree is shown right now: the layer, the path that is lit, the node that is selected, the colours."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor

from core.analysis.tree_figure import Stage, TreeFigure, Walk
from widgets.palette import Theme, exit_colours
from widgets.theme import mixed
from widgets.tree_shape import TreeShape


@dataclass(frozen=True, slots=True)
class TreeMarks:
    """What of a tree is picked out."""

    layer: int = -1
    """0-based layer that the slider is at; -1 before the first one ran."""
    lit: int | None = None
    """The path that is lit; all else steps back."""
    node: int | None = None
    """The node that is selected."""
    bonus: bool = False
    """Whether the bonus token is selected, which is no node."""


@dataclass(frozen=True, slots=True)
class TreeLook:
    """One state of the drawing."""

    figure: TreeFigure
    shape: TreeShape
    theme: Theme
    marks: TreeMarks
    focused: bool = False

    @property
    def layer(self) -> int:
        return self.marks.layer

    @property
    def lit(self) -> int | None:
        return self.marks.lit

    @property
    def node(self) -> int | None:
        return self.marks.node

    @property
    def layers_run(self) -> int:
        return self.layer + 1

    @property
    def stage(self) -> Stage:
        return self.figure.stage(self.layer)

    @property
    def walk(self) -> Walk | None:
        """The walk at exactly this layer."""
        return self.figure.walk_at(self.layer)

    def exit_of(self, node: int) -> int:
        """The node's exit as far as it is known at this layer; 0 where it is not."""
        exit_layer = int(self.figure.nodes.exits[node])
        return exit_layer if exit_layer <= self.layers_run else 0

    def path_exit(self, path: int) -> int:
        """The path's exit as far as it is known at this layer; 0 where it is not."""
        exit_layer = int(self.figure.paths.exits[path])
        return exit_layer if exit_layer <= self.layers_run else 0

    def is_dim(self, node: int) -> bool:
        """Whether another path than this node's is lit."""
        return self.lit is not None and node not in self.figure.paths.nodes[self.lit]

    def colour(self, exit_layer: int) -> QColor:
        """Cividis, as everywhere."""
        return QColor(*map(int, exit_colours([exit_layer], self.figure.depth)[0]))

    def paler(self, colour: str, dim: bool) -> QColor:
        """A colour, stepped back where it does not belong to the lit path."""
        return QColor(mixed(colour, self.theme.surface, 0.55) if dim else colour)
