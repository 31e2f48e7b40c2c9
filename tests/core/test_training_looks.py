"""What layers would have said at the kept tokens, and the views that predictors learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.drafting.head import DraftHead
from core.exits.lens import ExitLens
from core.model.loading import LoadedModel
from core.progress import quiet
from core.training.data import Answers
from core.training.features import held_out_views, training_views
from core.training.looks import Contest, Looks
from core.training.prompts import Use
from core.training.workspace import Workspace
from tests.core.training_setup import stored_answers, tiny_model


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedModel, Answers, Workspace]:
    folder = tmp_path_factory.mktemp("looks")
    model = tiny_model(folder / "model")
    return model, stored_answers(model, folder), Workspace(folder / "work")


def random_lens(model: LoadedModel) -> ExitLens:
    layers, d = model.config.depth - 1, model.config.hidden
    return ExitLens(torch.randn(layers, d), full=torch.randn(layers, d, d) / d)


def said(model: LoadedModel, states: torch.Tensor, lens: ExitLens | None) -> torch.Tensor:
    """Logits [kept, L-1, V] of kept states, a layer at a time."""
    decoder = model.decoder
    seen = [states[:, at].float() for at in range(states.shape[1])]
    seen = seen if lens is None else [lens(at, one) for at, one in enumerate(seen)]
    return torch.stack([decoder.logits(decoder.norm(one)) for one in seen], 1)


@pytest.mark.parametrize("tuned", [False, True])
def test_that_looks_are_what_the_head_says_of_each_layer(
    ground: tuple[LoadedModel, Answers, Workspace], tuned: bool, tmp_path: Path
) -> None:
    model, answers, _ = ground
    lens = random_lens(model) if tuned else None
    looks = Looks(model.decoder, answers, Workspace(tmp_path), lens)
    looks.work_out(1e9, quiet, None)
    for use in (Use.RESERVED, Use.TUNE, Use.TEST):
        found = looks.load(use)
        assert looks.keys(use)
        for key in looks.keys(use):
            logits = said(model, answers.read(key, "layers"), lens)
            final = answers.read(key, "ids")[answers.read(key, "kept").long()]
            if use is Use.RESERVED:
                assert torch.equal(found[key.name("agrees")], logits.argmax(-1) == final[:, None])
                continue
            p = torch.softmax(logits, -1).sort(-1, descending=True)
            assert torch.equal(found[key.name("argmax")].long(), p.indices[..., 0])
            torch.testing.assert_close(found[key.name("top")].float(), p.values[..., 0], rtol=1e-3, atol=1e-3)
            margin = p.values[..., 0] - p.values[..., 1]
            torch.testing.assert_close(found[key.name("margin")].float(), margin, rtol=1e-3, atol=1e-3)


def test_that_a_contest_is_won_by_the_highest_logit_whatever_the_order_of_columns() -> None:
    random = torch.Generator().manual_seed(0)
    weight, rows = torch.randn(20_000, 8, generator=random), torch.randn(300, 8, generator=random)
    best = (rows @ weight.T).argmax(-1)
    tokens = torch.where(torch.arange(300) % 2 == 0, best, torch.randint(0, 20_000, (300,), generator=random))
    for mass in (torch.zeros(20_000), torch.rand(20_000, generator=random)):
        assert torch.equal(Contest(weight, mass).wins(rows, tokens), tokens == best)


def test_that_looks_are_not_taken_twice_and_leave_out_answers_where_time_is_short(
    ground: tuple[LoadedModel, Answers, Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, answers, _ = ground
    monkeypatch.setattr("core.training.looks.MOST", {Use.RESERVED: 1, Use.TUNE: 1, Use.TEST: 1000})
    looks = Looks(model.decoder, answers, Workspace(tmp_path), None)
    looks.work_out(1e9, quiet, None)
    assert [len(looks.keys(use)) for use in (Use.RESERVED, Use.TUNE, Use.TEST)] == [1, 1, 2]
    monkeypatch.setattr(Looks, "_look", lambda *_: pytest.fail("looked again"))
    Looks(model.decoder, answers, Workspace(tmp_path), None).work_out(1e9, quiet, None)


def test_that_views_hold_the_candidates_logits_and_whether_a_check_would_pass(
    ground: tuple[LoadedModel, Answers, Workspace],
) -> None:
    model, answers, work = ground
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(3))
    looks = Looks(model.decoder, answers, work, None)
    looks.work_out(1e9, quiet, None)
    views, row = held_out_views(head, answers, looks, Use.TUNE, quiet), 0
    for key in looks.keys(Use.TUNE):
        logits = said(model, answers.read(key, "layers"), None)
        for at in range(len(logits)):
            # The four logits of the first layer name the candidates: no two tokens have the same.
            ids = [int((logits[at, 0] - float(value)).abs().argmin()) for value in views.logits[row, 0]]
            np.testing.assert_allclose(views.logits[row], logits[at][:, ids], rtol=1e-4, atol=1e-4)
            argmax = logits[at].argmax(-1)
            assert views.among[row].tolist() == [int(one) in ids for one in argmax]
            final = int(answers.read(key, "ids")[answers.read(key, "kept")[at]])
            assert views.listed[row] == (final in ids)
            assert views.agrees[row].tolist() == [int(one) == final for one in argmax]
            row += 1
    assert row == len(views)
    assert len(training_views(head, answers, looks, quiet)) == sum(
        answers.length(key, "kept") for key in answers.kept_of(Use.RESERVED)
    )
