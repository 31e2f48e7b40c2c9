"""How another early-exit engine tells what it did, so that specee-viewer can show it; nothing but Python is needed.

`python write_trace.py trace.jsonl`, then `specee-viewer import trace.jsonl`. `RunStarted`, one `TokenEmitted` a token
and `RunEnded` are enough; events.md lists what can be told beside.
"""

import base64
import json
import sys
from pathlib import Path

LAYERS, WORDS, EXITS = 24, (" The", " sky", " is", " blue", "."), (24, 17, 21, 9, 24)
SIZES = {"depth": LAYERS, "hidden_size": 1024, "vocabulary": 50_000, "context": 2048}
WHERE = {"dtype": "float16", "device": "cuda", "threads": 1}
MODEL = {"name": "mine", "fingerprint": "", "architecture": "Mine", **SIZES, **WHERE}
RULE = {"policy": "calm", "threshold": 0.9, "scheduler": {}, "sampling": {}, "stop": []}
SETTINGS = {**RULE, "kv_policy": "recompute", "record": "live"}
START = {"prompt": "Why?", "prompt_ids": [7, 8], "offline": [], "versions": {"my engine": "2.1"}}

lines = [{"format": "specee-viewer events", "version": 1}]
lines.append({"event": "RunStarted", "run": 0, "model": MODEL, "settings": SETTINGS, **START})
for token, (word, layers) in enumerate(zip(WORDS, EXITS, strict=True)):
    place = {"run": 0, "token": token}
    for layer in range(layers if token else 0):  # the first token comes from the prompt, always at full depth
        sure = (0.95 if layers < LAYERS else 0.8) * ((layer + 1) / layers) ** 2  # above the threshold where it leaves
        score = sure if layer + 1 < LAYERS else None  # behind the last layer nobody is asked
        seen = {"features": None, "score": score, "proposed": layer + 1 == layers < LAYERS}
        lines.append({"event": "LayerRun", **place, "layer": layer, **seen})
    text = {"token_id": 100 + token, "token_bytes": base64.b64encode(word.encode()).decode(), "special": False}
    reason = "prefill" if token == 0 else "rule" if layers < LAYERS else "last layer"
    end = {"exit_layer": layers, "reason": reason, "times": {"total": 0.001 * layers}}
    lines.append({"event": "TokenEmitted", **place, **text, **end})
lines.append({"event": "RunEnded", "run": 0, "reason": "end of text", "detail": "The model ended its text."})
Path(sys.argv[1]).write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
