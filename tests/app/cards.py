"""A trained parts' card as the trainer writes it, with invented figures."""

from __future__ import annotations

from typing import Any

LABEL = "argmax = final and in S"
LAYER = {"accuracy": 0.88, "auc": 0.81, "ece": 0.043, "positives": 0.4}


def point(threshold: float, agreement: float, mean_exit_layer: float) -> dict[str, float]:
    """One row of the frontier."""
    return {
        "threshold": threshold,
        "mean_exit_layer": mean_exit_layer,
        "early": 0.25,
        "agreement": agreement,
        "verifications": 0.3,
    }


def tried(name: str, agreement: float, mean_exit_layer: float, ratio: float) -> dict[str, Any]:
    """One setting in real runs."""
    return {
        "name": name,
        "agreement": agreement,
        "mean_exit_layer": mean_exit_layer,
        "verifications": 0.2,
        "ratio_to_dense": ratio,
    }


def card() -> dict[str, Any]:
    """A whole card for a model of 12 layers."""
    figures = {"mean": LAYER, "layers": [LAYER] * 11}
    return {
        "seed": 0,
        "budget_minutes": 12.0,
        "versions": {"torch": "2.13.0"},
        "data": {"sha256": "ab" * 32, "prompts": {"train": 900, "test": 120}, "answer_tokens": {"train": 150_000}},
        "drafter": {
            "recipe": "EAGLE-1 head",
            "quality": {
                "overall": {"tokens": 16_222, "top1": 0.386, "top4": 0.598},
                "by_category": {"code": {"tokens": 4000, "top1": 0.45, "top4": 0.66}},
            },
        },
        "head": {
            "recipe": "SVD, then KL",
            "rank": 72,
            **{"rho_tau": 0.981, "top1": 0.38, "top4": 0.59, "top1_full": 0.386, "top4_full": 0.598},
            **{"nu": 0.2, "kappa": 9.1, "least_rho": 0.921, "pays": True, "shortlist_miss": 0.004},
            "trimmed": {"tokens": 6216, "rho_tau": 0.95, "top1": 0.37, "top4": 0.57},
        },
        "lens": {
            "recipe": "h + A h + b",
            "form": "rank 72",
            "share_of_a_layer": 0.0234,
            "layers": [{"plain_agreement": 0.1, "agreement": 0.3, "plain_could_exit": 0.0, "could_exit": 0.04}] * 11,
        },
        "predictors": {
            "recipe": "MLP",
            "label": LABEL,
            "tokens": {"train": 18_000},
            "quality": {LABEL: {"t1": {LABEL: figures}, "t1t2": {LABEL: figures}}},
        },
        "profile": {"exits": [0] * 8 + [3, 9, 5], "tokens": 900, "prompts": 6, "threshold": 0.5},
        "frontier": [point(0.5, 0.836, 9.9), point(0.95, 0.992, 11.4)],
        "recommended_threshold": 0.95,
        "tune": {
            "dtype": "float32",
            "chosen": "cheapest above 99.0%",
            "measured": [tried("dense", 1.0, 12.0, 1.0), tried("cheapest above 99.0%", 0.992, 10.8, 1.07)],
        },
        "adainfer": {
            "svm": {"agreement": 0.97, "share_pruned": 0.03, "accuracy": [0.9, 0.8]},
            "crf": {"agreement": 0.98, "share_pruned": 0.02, "accuracy": [0.9, 0.8]},
        },
    }
