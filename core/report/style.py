"""The style sheet of a report: light and dark as the reader's system has it, and nothing fetched from anywhere."""

from __future__ import annotations

from core.report.inks import DARK, LIGHT, style_of

STYLE = f"""
:root {{ color-scheme: light dark; {style_of(LIGHT)} --window: #f4f5f7; }}
@media (prefers-color-scheme: dark) {{ :root {{ {style_of(DARK)} --window: #16181d; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--window); color: var(--text);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; }}
main {{ max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }}
h1 {{ font-size: 26px; margin: 0 0 4px; }}
h2 {{ font-size: 20px; margin: 40px 0 4px; }}
h3 {{ font-size: 16px; margin: 0 0 6px; }}
h4 {{ font-size: 14px; margin: 22px 0 4px; }}
a {{ color: var(--accent); }}
.muted, figcaption {{ color: var(--muted); font-size: 13px; }}
.card {{ background: var(--surface); border: 1px solid var(--line); border-radius: 10px; padding: 16px 20px;
  margin: 14px 0; overflow-x: auto; }}
dl.figures {{ display: flex; flex-wrap: wrap; gap: 10px 34px; margin: 0; }}
dl.figures dt {{ color: var(--muted); font-size: 13px; }}
dl.figures dd {{ margin: 0; font-size: 20px; font-variant-numeric: tabular-nums; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; }}
figure {{ margin: 0; }}
svg {{ display: block; max-width: 100%; height: auto; }}
.tokens {{ line-height: 2.15; white-space: pre-wrap; overflow-wrap: anywhere; margin: 8px 0 0; }}
.tokens bdi {{ border-bottom: 4px solid var(--line); padding: 2px 1px 0; margin-right: 2px; }}
.tokens small {{ color: var(--muted); font-size: 10px; vertical-align: super; line-height: 0; user-select: none; }}
.tokens .refused small {{ color: var(--caution); }}
.tokens .wrong small {{ color: var(--wrong); }}
.tokens .special {{ color: var(--muted); }}
.scale i {{ display: inline-block; width: 14px; height: 8px; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }}
th, td {{ text-align: left; padding: 3px 18px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }}
td.number, th.number {{ text-align: right; }}
td {{ overflow-wrap: anywhere; }}
"""
