"""A policy of the user's own runs on the one loop, and whatever is wrong with it is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from core.choices import Policy, Record
from core.config import RunSettings, SamplingSettings, policy_from_text
from core.engine import Engine
from core.errors import UserError
from core.model.loading import LoadedModel
from core.trace.events import EndReason, ExitReason, TokenEmitted
from core.trace.jsonl import dumps, loads
from core.trace.trace import Trace
from tests.engines import DEPTH, ids, of_type
from tests.engines import run as run_engine

DOCS = Path(__file__).parents[2] / "docs" / "own-policy.md"

WHOLE = """
class Own:
    drafts = False
    def __init__(self, settings, depth, parts): {init}
    def begin(self, view, draft): {begin}
    def look(self, layer, hidden): {look}
    def record(self, token, layer): {record}
"""


VOCABULARY = 300
"""Of the tiny model."""

EVALUATION = (
    "from core.exits.policies import Evaluation; from core.sampling import Choice; import numpy; return Evaluation({})"
)
SCHEDULE = (
    "from core.exits.scheduling import Schedule; import numpy; one = numpy.ones({layers}, int); "
    "return Schedule(one, one, one, one * 0, one * 0)"
)


LATE_RING = SCHEDULE.format(layers=DEPTH).replace("(one, one, one, one * 0, one * 0)", "(one, one, {})")
UNSPEAKABLE = "type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()"
"""An exception that cannot be put into words."""


def run(engine: Engine, reference: str, **settings: object) -> Trace:
    return run_engine(engine, **policy_from_text(reference), **settings)


@pytest.fixture
def partless(tiny: LoadedModel) -> Engine:
    return Engine(tiny)


def own(folder: Path, **bodies: str) -> str:
    """A policy that never leaves early, except for these method bodies."""
    return written(folder, WHOLE.format(**{"init": "pass", "begin": "pass", "look": "pass", "record": "pass"} | bodies))


def written(folder: Path, text: str) -> str:
    (folder / "own.py").write_text(text)
    return f"{folder / 'own.py'}:Own"


@pytest.fixture
def example(tmp_path: Path) -> str:
    """The example of the documentation, as a reader would copy it."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) < 50
    (tmp_path / "patient.py").write_text(code)
    return f"{tmp_path / 'patient.py'}:Patient"


def test_that_the_documented_example_leaves_where_three_layers_agreed(partless: Engine, example: str) -> None:
    trace = run(partless, example, record=Record.AUDIT, max_new_tokens=40)
    early = [record for record in trace.emitted[1:] if record.emitted.reason is ExitReason.RULE]
    assert early
    for record in early:
        at = record.emitted.exit_layer
        assert set(record.audit.token_ids[at - 3 : at]) == {record.emitted.token_id}


def test_that_the_trace_names_the_file_and_class(partless: Engine, example: str) -> None:
    started = run(partless, example).started
    assert started is not None
    assert (started.settings.policy, started.settings.custom) == (Policy.CUSTOM, example)
    assert RunSettings.from_json(started.settings.to_json()) == started.settings


def test_that_a_policy_that_never_leaves_equals_dense(partless: Engine, tmp_path: Path) -> None:
    assert ids(run(partless, own(tmp_path))) == ids(run_engine(partless, policy=Policy.DENSE))


def test_that_an_edited_file_is_read_again_and_no_cache_is_left_beside_it(partless: Engine, tmp_path: Path) -> None:
    assert run(partless, own(tmp_path)).ended.reason is EndReason.MAX_NEW_TOKENS
    assert run(partless, own(tmp_path, look="1 / 0")).ended.reason is EndReason.FAILED
    assert [one.name for one in tmp_path.glob("*cache*")] == []


@pytest.mark.parametrize("method", ["begin", "look", "record"])
def test_that_an_interrupt_inside_the_user_s_code_ends_the_run_as_stopped(
    partless: Engine, tmp_path: Path, method: str
) -> None:
    trace = run(partless, own(tmp_path, **{method: "raise KeyboardInterrupt"}))
    assert trace.ended.reason is EndReason.STOPPED
    assert len(trace.emitted) == 1


def test_that_a_policy_that_drafts_is_verified_as_specee_is(eager: Engine, partless: Engine, tmp_path: Path) -> None:
    propose = "from core.exits.policies import Evaluation; import numpy; return Evaluation(numpy.zeros(0), 1.0, True)"
    drafting = WHOLE.replace("drafts = False", "drafts = True")
    bodies = {"init": "pass", "begin": "pass", "look": propose, "record": "pass"}
    reference = written(tmp_path, drafting.format(**bodies))
    trace = run(eager, reference, max_new_tokens=60)
    assert ids(trace) == ids(run_engine(eager, policy=Policy.SPECEE_T1, max_new_tokens=60))
    assert ExitReason.VERIFIED in {record.emitted.reason for record in trace.emitted}
    with pytest.raises(UserError, match="wants speculative tokens, but this model has no drafter"):
        run(partless, reference)


@pytest.mark.parametrize(
    "given",
    [
        "numpy.zeros(2), numpy.float32(0.25), numpy.float32(0.25) > 0.5",
        "hidden[:2], hidden.sum().sigmoid(), hidden.sum() > 1e9",
        "(1, 2), 0, 0",
    ],
)
def test_that_numbers_of_numpy_and_torch_are_taken_and_can_be_recorded(
    partless: Engine, tmp_path: Path, given: str
) -> None:
    trace = run(partless, own(tmp_path, look=EVALUATION.format(given)), max_new_tokens=3)
    back = Trace.of(loads(dumps(event)) for event in trace.events)
    assert back.ended == trace.ended
    assert trace.ended.reason is EndReason.MAX_NEW_TOKENS
    assert back.records[1].scores[:-1].tolist() == trace.records[1].scores[:-1].tolist()
    assert trace.records[1].features.shape == (DEPTH, 2)


def test_that_a_choice_of_numpys_numbers_is_emitted(partless: Engine, tmp_path: Path) -> None:
    given = "[], 1.0, layer == 2, Choice(numpy.int64(99), 0.5, 0.5)"
    trace = run(partless, own(tmp_path, look=EVALUATION.format(given)), max_new_tokens=4)
    assert ids(trace)[1:] == [99] * 3
    assert [loads(dumps(event)).token_id for event in of_type(trace, TokenEmitted)] == ids(trace)


def test_that_looking_ahead_from_any_layer_changes_nothing_and_tells_full_depth(
    partless: Engine, tmp_path: Path
) -> None:
    """`view.finish` continues from the layers run so far; what it computes stays out of the context."""
    oracle = (
        "states = self.view.finish(); norm = self.view.decoder.norm; last = self.view.choose(norm(states[-1])); "
        "here = self.view.choose(norm(hidden)); "
        + EVALUATION.format("[], 1.0, layer == 3 and here.token_id == last.token_id, here")
    )
    reference = own(tmp_path, begin="self.view = view", look=oracle)
    assert ids(run(partless, reference)) == ids(run_engine(partless, policy=Policy.DENSE))


def test_that_an_own_policy_may_sample(partless: Engine, tmp_path: Path) -> None:
    assert run(partless, own(tmp_path), sampling=SamplingSettings(temperature=0.7)).ended


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("class Other: pass", r"has no class Own; it has Other\.$"),
        ("from pathlib import Path", r"has no class Own; it has none\.$"),
        ("Own = 3", "has no class Own"),
        ("class Own:\n    def look(self): pass", r"Own in .* is no exit policy: it lacks begin and record\.$"),
        ("x = 1\nraise ValueError('no\\nluck')", r"cannot be run: ValueError: no luck \(line 2\)\.$"),
        ("import nothing_of_that_name", r"cannot be run: ModuleNotFoundError: .* \(line 1\)\.$"),
        ("\n\ndef oh no", r"cannot be run: SyntaxError: .* \(line 3\)\.$"),
        ("raise SystemExit(3)", r"cannot be run: SystemExit: 3 \(line 1\)\.$"),
        ("x = '\\0'".replace("\\0", "\0"), "cannot be run: "),
        (WHOLE.replace("drafts = False", "").format(init="pass", begin="pass", look="pass", record="pass"), "`drafts`"),
        (
            WHOLE.format(init="raise KeyError('a')", begin="pass", look="pass", record="pass"),
            r"Own in .* cannot be made as Own\(settings, depth, parts\): KeyError: 'a' \(line 4\)\.$",
        ),
        (
            WHOLE.replace(", parts", "").format(init="pass", begin="pass", look="pass", record="pass"),
            r"cannot be made as .*: TypeError: .*positional arguments",
        ),
    ],
)
def test_that_a_file_that_holds_no_policy_is_one_sentence(
    partless: Engine, tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        run(partless, written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_that_a_file_that_is_not_there_is_one_sentence(partless: Engine, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no file .*none\.py; your own policy is given as FILE\.py:Class"):
        run(partless, f"{tmp_path / 'none.py'}:Own")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UserError, match=r"folder\.py cannot be read \(Is a directory\)"):
        run(partless, f"{tmp_path / 'folder.py'}:Own")


@pytest.mark.parametrize(
    ("bodies", "sentence"),
    [
        ({"begin": "return 7"}, "Own.begin returned 7; it must be a Schedule or None."),
        (
            {"begin": SCHEDULE.format(layers=2)},
            "Own.begin returned a Schedule that cannot be used: its active has the shape [2] instead of [6].",
        ),
        (
            {"look": EVALUATION.format("[.1] * (layer + 1), 0.5, False")},
            "Own.look returned an Evaluation that cannot be used: it has 2 features where the first had 1.",
        ),
        (
            {"look": EVALUATION.format("[[.1]], 0.5, False")},
            "Own.look returned an Evaluation that cannot be used: its features are of shape [1, 1] instead of [n].",
        ),
        (
            {"look": EVALUATION.format("[], float('nan'), False")},
            "Own.look returned an Evaluation that cannot be used: its score is nan instead of 0…1.",
        ),
        (
            {"look": EVALUATION.format("[], 1.0, True, 7")},
            "Own.look returned an Evaluation that cannot be used: its choice is 7 instead of a Choice, as view.choose "
            "gives it.",
        ),
        (
            {"look": EVALUATION.format("[], 1.0, True, Choice(99999, 0.5, 0.5)")},
            f"Own.look returned an Evaluation that cannot be used: its choice is the token 99999 of a vocabulary of "
            f"{VOCABULARY}.",
        ),
        ({"look": "raise SystemExit(3)"}, "Own.look failed: SystemExit: 3 (line 6)."),
        ({"look": "return True"}, "Own.look returned True; it must be an Evaluation or None."),
        ({"look": "1 / 0"}, "Own.look failed: ZeroDivisionError: division by zero (line 6)."),
        ({"begin": "self.x"}, "Own.begin failed: AttributeError: 'Own' object has no attribute 'x' (line 5)."),
        ({"record": "raise OSError"}, "Own.record failed: OSError (line 7)."),
        ({"look": "next(iter([]))"}, "Own.look failed: StopIteration (line 6)."),
        ({"look": "raise OSError('x' * 10**5)"}, f"Own.look failed: OSError: {'x' * 200}… (line 6)."),
        ({"look": f"raise {UNSPEAKABLE}"}, "Own.look failed: Mute (line 6)."),
        (
            {"look": EVALUATION.format("[], 0.5, hidden > 0")},
            "Own.look returned an Evaluation that cannot be used: Boolean value of Tensor with more than one value is "
            "ambiguous.",
        ),
        (
            {"begin": LATE_RING.format("one, [9], [0]")},
            "Own.begin returned a Schedule that cannot be used: its ring_layers is 9, which is not between 0 and 5.",
        ),
        (
            {"begin": LATE_RING.format("one, [0], [1]")},
            "Own.begin returned a Schedule that cannot be used: its ring_tokens is 1, which is not between 0 and 0.",
        ),
        (
            {"begin": LATE_RING.format("one * float('nan'), [], []")},
            "Own.begin returned a Schedule that cannot be used: its counters hold something that is no whole number.",
        ),
        (
            {"look": "from core.exits.policies import Evaluation; return Evaluation([], 1.0, True)"},
            "Own.look proposed an exit without a choice, and there are no speculative tokens to verify it by; give a "
            "choice, or set `drafts` to True.",
        ),
    ],
)
def test_that_a_policy_that_fails_midway_ends_the_run_with_a_sentence(
    partless: Engine, tmp_path: Path, bodies: dict[str, str], sentence: str
) -> None:
    ended = run(partless, own(tmp_path, **bodies)).ended
    assert ended is not None
    assert (ended.reason, ended.detail) == (EndReason.FAILED, sentence)


@pytest.mark.parametrize(
    "given",
    [
        "return hidden",
        "return [hidden] * 99",
        "return {1: 'x' * 10**5}",
        f"return {UNSPEAKABLE.replace('str', 'repr')}",
    ],
)
def test_that_whatever_a_method_returns_is_shown_on_one_short_line(
    partless: Engine, tmp_path: Path, given: str
) -> None:
    detail = run(partless, own(tmp_path, look=given)).ended.detail
    assert re.fullmatch(r"Own\.look returned [^\n]{4,201}; it must be an Evaluation or None\.", detail)


@pytest.mark.filterwarnings("error")
def test_that_a_feature_beyond_float32_is_infinite_without_a_warning(partless: Engine, tmp_path: Path) -> None:
    trace = run(partless, own(tmp_path, look=EVALUATION.format("[1e300], 0.5, False")), max_new_tokens=3)
    assert trace.records[1].features[0, 0] == np.inf


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("dense", {"policy": Policy.DENSE}),
        ("specee-t1t2", {"policy": Policy.SPECEE_T1T2}),
        ("adainfer-crf", {"policy": Policy.ADAINFER_CRF}),
        ("fixed:12", {"policy": Policy.FIXED, "fixed_layer": 12}),
        ("a/b.py:Mine", {"policy": Policy.CUSTOM, "custom": "a/b.py:Mine"}),
        ("C:\\a\\b.py:Mine", {"policy": Policy.CUSTOM, "custom": "C:\\a\\b.py:Mine"}),
        ("fixed:b.py:Mine", {"policy": Policy.CUSTOM, "custom": "fixed:b.py:Mine"}),
    ],
)
def test_that_a_written_policy_becomes_settings(text: str, fields: dict[str, object]) -> None:
    assert policy_from_text(text) == fields
    assert RunSettings(**policy_from_text(text)).policy is fields["policy"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is no policy ''; choose dense, specee-t1, .*, fixed:N or FILE.py:Class"),
        ("sparse", "There is no policy 'sparse'; choose dense"),
        ("custom", "There is no policy 'custom'"),
        ("fixed", "names no layer; write fixed:N, as in fixed:12"),
        ("fixed:", "names no layer"),
        ("fixed:-1", "names no layer"),
        ("fixed:two", "names no layer"),
        ("fixed:²", "names no layer"),
        ("own.py", "There is no policy"),
        ("own.py:", "There is no policy"),
        ("own.py:a-b", "There is no policy"),
        ("own.txt:Mine", "There is no policy"),
    ],
)
def test_that_a_policy_nobody_knows_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        policy_from_text(text)


def test_that_a_fixed_layer_is_still_held_to_the_models_depth(partless: Engine) -> None:
    with pytest.raises(UserError, match=f"this model has layers 1 to {DEPTH}"):
        run(partless, f"fixed:{DEPTH + 1}")


def test_that_custom_without_a_class_is_refused_by_the_settings() -> None:
    with pytest.raises(UserError, match=r"Your own policy is not named; give its file and class as FILE\.py:Class"):
        RunSettings(Policy.CUSTOM)
