"""Everything the user can do, as one table in parts: words, icon, key and tip of each action."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spec:
    """One action."""

    name: str
    text: str
    """With its mnemonic."""
    icon: str
    key: str
    """In `QKeySequence`'s portable text."""
    tip: str
    """One sentence without a full stop, for tooltip and status bar."""
    group: str = ""
    """Actions of one group are checkable and exclude each other."""
    also: tuple[str, ...] = ()
    """More keys that mean the same, until the user chooses one."""
    checkable: bool = False
    """Whether it is on or off by itself."""


RUN = (
    Spec("run", "&Run", "run", "F5", "Run the prompt, or go on with the paused run"),
    Spec("pause", "&Pause", "pause", "F6", "Pause after the layer that is running now"),
    Spec(
        "step_token",
        "Step &token",
        "step-token",
        "F10",
        "Go on a token, at the newest one by running it, or a tree’s pass; then pause",
    ),
    Spec("step_layer", "Step &layer", "step-layer", "F11", "Go on a layer, at the newest by running it; then pause"),
    Spec("stop", "&Stop", "stop", "Shift+F5", "End this run here and keep what it recorded"),
    Spec(
        "reset", "R&eset", "reset", "Ctrl+R", "Clear the views; the run stays in this session, prompt and settings too"
    ),
)
TRAVEL = (
    Spec("step_back_token", "Step token &back", "step-back-token", "Shift+F10", "Go back a token; nothing runs again"),
    Spec("step_back_layer", "Step layer bac&k", "step-back-layer", "Shift+F11", "Go back a layer; nothing runs again"),
    Spec("step_pass", "Step p&ass", "step-pass", "Ctrl+F10", "Go on to the last token of a target pass, then pause"),
    Spec(
        "step_back_pass",
        "Step pass ba&ck",
        "step-back-pass",
        "Ctrl+Shift+F10",
        "Go back to the last token of the target pass before",
    ),
    Spec("play_recording", "P&lay recording", "replay", "Ctrl+F5", "Play what is recorded, or stop", checkable=True),
    Spec("replay_faster", "&Faster", "faster", "Alt+Up", "Play the recording faster"),
    Spec("replay_slower", "Slo&wer", "slower", "Alt+Down", "Play the recording more slowly"),
    Spec("fork", "F&ork here…", "fork", "Ctrl+K", "Exchange the selected token, or settings, and generate on from it"),
)
SELECT = (
    Spec("goto_token", "&Go to token…", "goto", "Ctrl+G", "Select a token by its number"),
    Spec("first_token", "F&irst token", "first", "Alt+Home", "Select the first token"),
    Spec("previous_token", "Pre&vious token", "previous", "Alt+Left", "Select the token before"),
    Spec("next_token", "Ne&xt token", "next", "Alt+Right", "Select the token after"),
    Spec("newest_token", "&Newest token", "follow", "Alt+End", "Select the newest token and follow those to come"),
)
BREAKPOINTS = (
    Spec(
        "continue_to_break",
        "Run to next &breakpoint",
        "break-next",
        "F8",
        "Go to the next hit; where none is recorded, go on with a held run until one comes",
    ),
    Spec("reverse_to_break", "Run &back to breakpoint", "break-previous", "Shift+F8", "Go back to the hit before"),
    Spec("next_interesting", "Next &interesting", "interesting-next", "F4", "Go to the next token worth a look"),
    Spec("previous_interesting", "&Previous interesting", "interesting-previous", "Shift+F4", "Go to the one before"),
    Spec("toggle_break", "&Toggle breakpoint here", "break", "F9", "Break on what happened to the selected token"),
)
COMPARE = (
    Spec("first_divergence", "&First divergence", "difference-first", "Ctrl+Alt+D", "Select where both runs part"),
    Spec(
        "previous_difference",
        "&Previous difference",
        "difference-previous",
        "Alt+PgUp",
        "Select the token before that differs between the runs compared",
    ),
    Spec(
        "next_difference",
        "&Next difference",
        "difference-next",
        "Alt+PgDown",
        "Select the next token that differs between the runs compared",
    ),
    Spec("swap_runs", "&Swap the runs", "swap", "Ctrl+Alt+W", "Show run B, and hold it against the one on show"),
)
MARKS = (
    Spec("toggle_mark", "Book&mark here", "mark", "Ctrl+B", "Bookmark the selected token, or take its bookmark away"),
    Spec("next_mark", "Ne&xt bookmark", "mark-next", "Ctrl+Shift+B", "Select the next bookmarked token"),
    Spec("previous_mark", "Pre&vious bookmark", "mark-previous", "Ctrl+Alt+B", "Select the one bookmarked before"),
)
FIND = (
    Spec("find", "&Find tokens…", "find", "Ctrl+F", "Find tokens by text, exit layer and outcome"),
    Spec("find_next", "Find &next", "find-next", "F3", "Select the next token that was found"),
    Spec("find_previous", "Find p&revious", "find-previous", "Shift+F3", "Select the token found before"),
)
WHAT_IF = (
    Spec(
        "rerun_truth",
        "Re-run what-if for &truth",
        "rerun-truth",
        "Ctrl+Alt+T",
        "Run the prompt with the settings of What if, and hold its exact part against the run",
    ),
    Spec("reset_what_if", "Reset &what-if", "reset-what-if", "Ctrl+Alt+Z", "Ask the recording’s own settings again"),
)
FILE = (
    Spec("new_session", "&New session", "new-session", "Ctrl+N", "Begin an empty session; the model stays"),
    Spec("open_session", "&Open session…", "session", "Ctrl+O", "Open recorded runs; no model is needed"),
    Spec("save_session", "&Save session", "save", "Ctrl+S", "Save all runs of this session, bookmarks and notes"),
    Spec("save_session_as", "Save session &as…", "save-as", "Ctrl+Shift+S", "Save this session under another name"),
)
EXPORT = (
    Spec("export_picture", "&Picture of the panel…", "export-picture", "Ctrl+E", "Write a panel as PNG or SVG"),
    Spec("export_table", "&Table of the panel…", "export-table", "Ctrl+Shift+E", "Write a panel’s numbers as CSV"),
    Spec("export_events", "Session as &JSON Lines…", "export-events", "Ctrl+Alt+E", "Write the events of all runs"),
    Spec("export_report", "&Report…", "export-report", "Ctrl+Alt+R", "Write this session as a page anybody can read"),
)
EDIT = (Spec("copy", "&Copy", "copy", "Ctrl+C", "Copy the selected token or rows, or the picture of a view"),)
MODEL = (
    Spec("default_model", "&Default model", "model", "Ctrl+D", "Use SmolLM2-135M-Instruct, fetched once (93 MB)"),
    Spec(
        "open_folder", "Open model &folder…", "folder", "Ctrl+Alt+O", "Open a folder with config.json and *.safetensors"
    ),
    Spec("open_gguf", "Open &GGUF file…", "file", "Ctrl+Shift+O", "Convert a GGUF file once and open it"),
    Spec("open_hub", "Open from the &hub…", "hub", "Ctrl+H", "Fetch a model by its Hugging Face id"),
    Spec("reload", "&Reload model", "reload", "Ctrl+Shift+R", "Load the model again with the chosen dtype and threads"),
    Spec(
        "parts",
        "&Trained parts…",
        "parts",
        "Ctrl+T",
        "Show how drafter and predictors were made, and how good they are",
    ),
    Spec("train", "Tr&ain parts…", "train", "Ctrl+Shift+T", "Train drafter and predictors for the loaded model"),
    Spec("quit", "&Quit", "quit", "Ctrl+Q", "Stop what is running and close the window"),
)
THEMES = (
    Spec(
        "theme_system",
        "Follow the &system",
        "theme-system",
        "Ctrl+Shift+Y",
        "Light or dark, as the desktop",
        "theme",
    ),
    Spec("theme_dark", "&Dark", "theme-dark", "Ctrl+Shift+D", "Always dark", "theme"),
    Spec("theme_light", "&Light", "theme-light", "Ctrl+Shift+L", "Always light", "theme"),
)
ENGINE_SETTINGS = (
    Spec("load_settings", "&Load engine settings…", "settings-load", "Ctrl+F2", "Take engine settings from a file"),
    Spec(
        "save_settings",
        "&Save engine settings…",
        "settings-save",
        "Ctrl+Shift+F2",
        "Keep engine settings in a file",
    ),
    Spec(
        "reset_settings",
        "&Default engine settings",
        "settings-reset",
        "Ctrl+F3",
        "Back to the first values",
    ),
)
SETTINGS = (
    *ENGINE_SETTINGS,
    Spec("settings", "Se&ttings…", "settings", "Ctrl+,", "Looks, type, recording, and everything back as it was"),
)
LOOKS = (
    Spec("zoom_in", "&Larger type", "zoom-in", "Ctrl+=", "Make all type larger", also=("Ctrl++",)),
    Spec("zoom_out", "&Smaller type", "zoom-out", "Ctrl+-", "Make all type smaller"),
    Spec("zoom_reset", "&Usual type", "zoom-reset", "Ctrl+0", "Type as large as the desktop’s"),
    Spec("projector", "&Projector", "projector", "Ctrl+Alt+P", "Large type for a room, or back", checkable=True),
)
LAYOUTS = (
    Spec("layout_teaching", "&Teaching", "layout-teaching", "Alt+1", "Few large panels: tokens, charts and why"),
    Spec("layout_debugging", "&Debugging", "layout-debugging", "Alt+2", "Breakpoints, scheduler, layers and what-if"),
    Spec("layout_tree", "Token t&ree", "layout-tree", "Alt+3", "The token tree over most of the window"),
    Spec("layout_compare", "&Compare", "layout-compare", "Alt+4", "Two runs side by side"),
)
VIEW = (
    *SETTINGS,
    *LOOKS,
    *LAYOUTS,
    Spec("save_layout", "&Save layout as…", "save-layout", "Alt+9", "Keep where the panels are, under a name"),
    Spec("reset_layout", "&Reset layout", "reset-layout", "Alt+0", "Put every panel back where it was at first"),
    Spec(
        "maximise",
        "&Maximise panel",
        "maximise",
        "Ctrl+Shift+M",
        "Give the panel that has the focus all the room, or put all back",
        checkable=True,
    ),
)
GUIDANCE = (
    Spec("explain", "&What am I looking at?", "explain", "Shift+F1", "Explain the panel that has the focus"),
    Spec("glossary", "&Glossary…", "glossary", "Ctrl+Shift+G", "Look up the field’s terms"),
    Spec("tour", "&Tour", "tour", "Ctrl+Alt+U", "Be led through the views on the sample session"),
)
HELP = (
    *GUIDANCE,
    Spec("sample", "&Sample session", "sample", "Ctrl+F1", "Look at recorded runs; no model is needed"),
    Spec("palette", "&Command palette…", "palette", "Ctrl+Shift+P", "Find any action by a few letters of its name"),
    Spec("keys", "&Keyboard shortcuts…", "help", "F1", "Show every action with its key, and change keys"),
    Spec("about", "&About specee-viewer", "about", "Ctrl+Shift+F1", "Show the version, and what it is made with"),
)
ALL = (
    *FILE,
    *EXPORT,
    *EDIT,
    *RUN,
    *TRAVEL,
    *SELECT,
    *BREAKPOINTS,
    *WHAT_IF,
    *MARKS,
    *FIND,
    *COMPARE,
    *MODEL,
    *THEMES,
    *VIEW,
    *HELP,
)
