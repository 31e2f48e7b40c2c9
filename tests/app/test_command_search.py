"""What is found by what is typed into the command palette."""

from __future__ import annotations

import pytest

from app.command_search import ranked, score

ENTRIES = [
    ("run", "Run", "Run"),
    ("step_token", "Step token", "Run"),
    ("step_layer", "Step layer", "Run"),
    ("panel_tokens", "Tokens", "View Show or hide: every token"),
    ("theme_dark", "Dark", "View ▸ Theme"),
]


def found(query: str, *recent: str) -> list[str]:
    return [ENTRIES[index][0] for index in ranked(query, ENTRIES, recent)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("tok", "panel_tokens"),
        ("step tok", "step_token"),
        ("stk", "step_token"),
        ("THEME", "theme_dark"),
        ("drk", "theme_dark"),
    ],
)
def test_that_the_nearest_action_comes_first(query: str, first: str) -> None:
    assert found(query)[0] == first


def test_that_every_word_has_to_be_found() -> None:
    assert found("step dark") == []
    assert score("token step", "Step token", "Run") is not None


def test_that_without_a_query_the_recent_ones_come_first_and_the_menus_order_follows() -> None:
    assert found("", "theme_dark", "gone") == ["theme_dark", "run", "step_token", "step_layer", "panel_tokens"]


def test_that_of_equal_hits_the_recent_one_comes_first_and_a_better_hit_stays_before_it() -> None:
    assert found("step") == ["step_token", "step_layer"]
    assert found("step", "step_layer") == ["step_layer", "step_token"]
    assert found("tokens", "step_token")[0] == "panel_tokens"
