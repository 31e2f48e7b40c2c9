"""The panels by name: how each is called, found and explained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """How a panel is named and found."""

    key: str
    title: str
    icon: str
    shortcut: str
    tip: str
    tool: str = ""
    """Module and class in `app.tools`, of a panel that is made when it is first seen."""
    behind: str = ""
    """The panel that it lies behind at first; "" keeps it out of sight until it is asked for."""


PROMPT = Place("prompt", "Prompt", "panel-prompt", "Ctrl+1", "What the model is asked")
SETTINGS = Place("settings", "Engine", "panel-settings", "Ctrl+2", "What decides a run")
TOKENS = Place("tokens", "Tokens", "panel-tokens", "Ctrl+3", "Every token, coloured by the layer it left at")
EXITS = Place("exits", "Exit layers", "panel-exits", "Ctrl+4", "Exit layers over tokens, with their running mean")
SCHEDULER = Place("scheduler", "Scheduler", "panel-scheduler", "Ctrl+5", "Which layers were watched for each token")
CURVES = Place("candidates", "Candidates", "panel-candidates", "Ctrl+6", "Candidates’ probabilities over layers")
TREE = Place(
    "tree", "Token tree", "panel-tree", "Ctrl+8", "The tree of the selected token’s pass, and its hyper-tokens"
)
WHY = Place("why", "Why", "panel-why", "Ctrl+7", "Why the selected token left where it did, in words")
LAYERS = Place(
    "layers",
    "Layers",
    "panel-layers",
    "Ctrl+Alt+5",
    "What each layer would have said of the selected token",
    tool="layers:Layers",
    behind="candidates",
)
WHAT_IF = Place(
    "what_if",
    "What if",
    "panel-what-if",
    "Ctrl+Alt+3",
    "What other settings would have decided, without the model",
    tool="what_if:WhatIf",
    behind="why",
)
KV_MAP = Place(
    "kv_map",
    "K/V map",
    "panel-kv",
    "Ctrl+Alt+6",
    "Which keys and values of each token are there",
    tool="kv_map:KVMapTool",
    behind="scheduler",
)
BREAKPOINTS = Place(
    "breakpoints",
    "Breakpoints",
    "panel-breakpoints",
    "Ctrl+Alt+1",
    "What runs and searches stop at",
    tool="breakpoints:Breakpoints",
    behind="settings",
)
LEDGER = Place(
    "ledger",
    "Ledger",
    "panel-ledger",
    "Ctrl+Alt+4",
    "What kept each token from leaving early: drafter, scheduler, predictor or gate",
    tool="ledger:LedgerTool",
    behind="why",
)
COSTS = Place(
    "costs",
    "Costs",
    "panel-costs",
    "Ctrl+Alt+8",
    "Where the time went, and whether the exits paid",
    tool="costs:CostsTool",
    behind="why",
)
INSPECTOR = Place(
    "inspector",
    "Inspector",
    "panel-inspector",
    "Ctrl+Alt+7",
    "What the selected layer’s predictor saw, and how good it is",
    tool="inspector:InspectorTool",
    behind="candidates",
)
COMPARE = Place(
    "compare",
    "Compare",
    "panel-compare",
    "Ctrl+Alt+9",
    "Another run beside the one on show, aligned by token",
    tool="compare:Compare",
)
MARKS = Place(
    "marks",
    "Bookmarks",
    "panel-marks",
    "Ctrl+Alt+2",
    "Bookmarks and notes, and the search for tokens",
    tool="marks:Marks",
    behind="settings",
)
LOG = Place("log", "Log", "panel-log", "Ctrl+Alt+0", "What happened in this window, with the time", tool="log:Log")
GUESS = Place(
    "guess",
    "Guess",
    "panel-guess",
    "Ctrl+Alt+G",
    "Guess the exit layer before each step, then see why",
    tool="guess:GuessTool",
)

VIEWS = (TOKENS, EXITS, SCHEDULER, CURVES, TREE, WHY)
"""The panels that show the run."""
TOOLS: tuple[Place, ...] = (BREAKPOINTS, MARKS, LAYERS, WHAT_IF, LEDGER, KV_MAP, COSTS, INSPECTOR, COMPARE, LOG, GUESS)
"""The panels that explain, search and compare."""
PLACES = (PROMPT, SETTINGS, *VIEWS, *TOOLS)
