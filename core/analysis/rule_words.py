"""Why a policy without predictors left or went on, in words: dense, CALM, fixed, oracle, AdaInfer and one's own."""

from __future__ import annotations

import numpy as np

from core.analysis.wording import bold, compared
from core.choices import Policy
from core.config import RunSettings
from core.trace.trace import TokenRecord

ADAINFER = {
    Policy.ADAINFER_SVM: "AdaInfer’s support vector machine",
    Policy.ADAINFER_CRF: "AdaInfer’s random field",
}


def why_left(record: TokenRecord, settings: RunSettings) -> str:
    """What made the policy leave before the last layer, as a sentence; "" where the trace does not say."""
    assert record.emitted is not None
    last = record.emitted.exit_layer - 1
    score = float(record.scores[last])
    match settings.policy:
        case Policy.FIXED:
            return "The fixed policy always leaves there."
        case Policy.ORACLE:
            return "It is the earliest layer from which every layer says this token: no predictor could leave earlier."
        case _ if np.isnan(score):
            return ""
        case Policy.CALM:
            return f"There the likeliest token’s probability was {compared(score, settings.threshold_at(last))}."
        case Policy.ADAINFER_SVM | Policy.ADAINFER_CRF:
            return f"There {ADAINFER[settings.policy]} called the token final (score {bold(f'{score:.2f}')})."
        case _:
            return f"There {_own(settings)} proposed the exit (score {bold(f'{score:.2f}')})."


def why_stayed(record: TokenRecord, settings: RunSettings) -> str:
    """What let the policy run to the last layer, as a sentence."""
    match settings.policy:
        case Policy.DENSE:
            return "The dense policy asks no predictor."
        case Policy.FIXED:
            return f"The fixed policy always runs {bold(settings.fixed_layer)} layers."
        case Policy.ORACLE:
            return "The oracle found no earlier layer to leave at."
        case Policy.CALM:
            return f"No layer’s likeliest token passed the threshold{_highest(record, settings)}."
        case Policy.ADAINFER_SVM | Policy.ADAINFER_CRF:
            return f"{ADAINFER[settings.policy]} called no layer’s token final{_highest(record)}."
        case _:
            return f"Y{_own(settings)[1:]} proposed no exit{_highest(record)}."


def at_layer(record: TokenRecord, layer: int, settings: RunSettings) -> str:
    """What the policy made of a layer that has run, as the end of a sentence that names the layer."""
    policy, score = settings.policy, float(record.scores[layer])
    leaves = bool(record.proposed[layer])
    goes_on = bold("exit") if leaves else "the pass goes on"
    match policy:
        case Policy.DENSE:
            return "the dense policy asks no predictor and always runs to full depth"
        case Policy.FIXED | Policy.ORACLE:
            return _leaves_here(policy) if leaves else f"the {policy.value} policy does not leave here"
        case _ if np.isnan(score):
            return f"{_own(settings) if policy is Policy.CUSTOM else f'the {policy.value} policy'} did not look at it"
        case Policy.CALM:
            return f"the likeliest token’s probability is {compared(score, settings.threshold_at(layer))} → {goes_on}"
        case Policy.ADAINFER_SVM | Policy.ADAINFER_CRF:
            verdict = "calls the token final" if leaves else "does not call the token final"
            return f"{ADAINFER[policy]} {verdict} (score {bold(f'{score:.2f}')}{_read(record, layer)}) → {goes_on}"
        case _:
            verdict = "proposes an exit" if leaves else "proposes none"
            return f"{_own(settings)} {verdict} (score {bold(f'{score:.2f}')}) → {goes_on}"


def _leaves_here(policy: Policy) -> str:
    if policy is Policy.FIXED:
        return f"the fixed policy always leaves here → {bold('exit')}"
    return f"it is the earliest layer from which every layer says this token → {bold('exit')}"


def _highest(record: TokenRecord, settings: RunSettings | None = None) -> str:
    """The score that came nearest to its threshold, where there are thresholds."""
    if not record.evaluated.any():
        return ""
    thresholds = [settings.threshold_at(layer) if settings else 0.0 for layer in range(record.depth)]
    best = int(np.nanargmax(record.scores - thresholds))
    score = float(record.scores[best])
    if settings is not None:
        return f" (the highest probability was {compared(score, thresholds[best])}, at layer {bold(best + 1)})"
    return f" (the highest score was {bold(f'{score:.2f}')}, at layer {bold(best + 1)})"


def _read(record: TokenRecord, layer: int) -> str:
    """What AdaInfer looked at: the gap p₁ - p₂ and the top probability p₁."""
    gap, top = (float(v) for v in record.features[layer, :2])
    return f", from p₁ {bold(f'{top:.2f}')} and a gap of {bold(f'{gap:.2f}')}"


def _own(settings: RunSettings) -> str:
    return f"your own policy {settings.custom.rpartition(':')[2]}"
