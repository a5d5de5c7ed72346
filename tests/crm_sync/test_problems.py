"""What went wrong with a call, in one sentence: every class of error, and real answers."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from crm_sync.models import Workspace
from crm_sync.platform import errors
from crm_sync.platform.client import Client
from crm_sync.platform.credentials import FixedToken
from crm_sync.platform.errors import (
    AuthError,
    ErrorKind,
    NotFoundError,
    Problem,
    RejectedError,
    TransientError,
    problem_of,
)
from crm_sync.platform.problems import MEANINGS, explain
from crm_sync.templatetags.problems import problem_cell
from sandbox.faults.rules import REFUSALS
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.sockets import answering, free_port, saying, serving
from tests.crm_sync.test_outside import certificate, secure
from tests.problems import answered

REPOSITORY = Path(__file__).resolve().parents[2]
CALL = "GET http://platform.test/v1/webhooks"


def failed(client: Client) -> errors.SyncError:
    with pytest.raises(errors.SyncError) as caught:
        client.get_webhook()
    return caught.value


def client_at(address: str, deadline: float = 2.0) -> Client:
    return Client(address, FixedToken(TOKEN), deadline=deadline)


def refused(status: int, words: str = "") -> Problem:
    return answered(CALL, status, words)


# --- what is stored
KINDS = st.sampled_from(ErrorKind)
TEXTS = st.text(max_size=60) | st.sampled_from(["{", '{"kind": "BUSY"}', CALL])


@given(TEXTS, KINDS, TEXTS)
def test_a_problem_reads_back_from_a_text_and_from_json_as_it_was(text, kind, words):
    problem = Problem(text, kind, words)
    said = problem.words if kind is not ErrorKind.OTHER else ""
    for again in (
        Problem.loaded(problem.dumped),
        Problem.of(json.loads(json.dumps(problem.stored))),
    ):
        assert (again, again.kind) == (problem, kind)
        assert again.words in (problem.words, said)


def test_a_text_of_ours_is_stored_as_it_is():
    assert Problem("Its list is not read yet.").dumped == "Its list is not read yet."


def test_a_long_text_is_cut_and_holds_nothing_that_a_database_refuses():
    problem = Problem("x\0" * 5000, ErrorKind.REFUSED, "y\0" * 5000)
    assert (problem, problem.words) == ("x" * 2000, "y" * 2000)


def test_a_column_keeps_the_kind(db):
    workspace = Workspace.objects.create(slug="main", problem=refused(400, "no"))
    workspace.refresh_from_db()
    assert workspace.problem.kind is ErrorKind.REFUSED
    assert explain(workspace.problem).sentence == "The platform refused it: no."
    assert Workspace.objects.filter(problem=refused(400, "no")).exists()
    Workspace.objects.update(problem="Ours")
    assert Workspace.objects.get().problem.kind is ErrorKind.OTHER
    Workspace.objects.update(problem="")
    assert not Workspace.objects.exclude(problem="").exists()


# --- each class of error
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TransientError("slow", unclear=False, kind=ErrorKind.SLOW), ErrorKind.SLOW),
        (RejectedError("no", status=400, kind=ErrorKind.REFUSED, words="no"), ErrorKind.REFUSED),
        (NotFoundError("none", kind=ErrorKind.NOT_FOUND), ErrorKind.NOT_FOUND),
        (AuthError("who?", expired=True, kind=ErrorKind.UNAUTHORIZED), ErrorKind.UNAUTHORIZED),
        (RejectedError("the id 'x' is too long", status=400), ErrorKind.OTHER),
        (AuthError("the token is empty"), ErrorKind.OTHER),
    ],
)
def test_each_class_of_error_is_told_like_what_is_stored_of_it(error, kind):
    problem = explain(error)
    assert (problem.kind, problem) == (kind, explain(Problem.loaded(problem_of(error).dumped)))
    sentence, advice = map(str, MEANINGS.get(kind, (str(error), "")))
    assert problem.sentence.startswith(sentence.removesuffix(" %(words)s"))
    assert problem.remedy.endswith(advice)


def test_an_error_of_our_own_code_is_its_text_and_without_one_its_name():
    odd = ValueError()
    odd.kind = "its own"  # not what went wrong with a call
    found = [problem_of(error) for error in (KeyError("x"), odd)]
    assert [(one, one.kind) for one in found] == [
        ("'x'", ErrorKind.OTHER),
        ("ValueError", ErrorKind.OTHER),
    ]


def test_every_class_of_error_is_among_them():
    classes = {errors.TransientError, errors.RejectedError, errors.NotFoundError, errors.AuthError}
    classes |= {errors.OnHold}  # a person holds the work: no answer
    assert set(errors.SyncError.__subclasses__()) == classes


# --- real answers
STATUSES = {
    302: ErrorKind.ELSEWHERE,
    400: ErrorKind.REFUSED,
    401: ErrorKind.UNAUTHORIZED,
    403: ErrorKind.FORBIDDEN,
    404: ErrorKind.NOT_FOUND,
    405: ErrorKind.ELSEWHERE,
    408: ErrorKind.SLOW,
    409: ErrorKind.NOT_ALLOWED,
    410: ErrorKind.NOT_FOUND,
    412: ErrorKind.LOCKED,
    413: ErrorKind.TOO_LARGE,
    415: ErrorKind.ELSEWHERE,
    418: ErrorKind.REFUSED,
    422: ErrorKind.REFUSED,
    423: ErrorKind.LOCKED,
    429: ErrorKind.BUSY,
    500: ErrorKind.DOWN,
    502: ErrorKind.DOWN,
    503: ErrorKind.DOWN,
    504: ErrorKind.SLOW,
}


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_a_sentence_and_what_is_stored_of_it_the_same_one(status, kind):
    body = b'{"message": "No such luck", "errors": [{"field": "title", "message": "too long"}]}'
    with serving(answering(body, status=f"{status} Whatever")) as server:
        error = failed(client_at(server.url))
    problem = explain(error)
    assert problem.kind is kind
    assert explain(Problem.loaded(problem_of(error).dumped)) == problem
    assert ("No such luck; title: too long" in problem.sentence) == (
        kind in (ErrorKind.REFUSED, ErrorKind.NOT_ALLOWED)
    )
    assert "http" not in problem.sentence


def test_every_fault_of_the_sandbox_has_a_sentence(box):
    for fault, (status, *_) in REFUSALS.items():
        box.faults.set({"rules": [{"fault": fault}]})
        assert explain(failed(client_at(PLATFORM))).kind is STATUSES[status], fault


def test_a_platform_that_is_down_silent_or_broken_is_told_apart():
    down = failed(client_at(f"http://127.0.0.1:{free_port()}"))
    with serving(saying(b"", pause=3.0)) as server:
        silent = failed(client_at(server.url, deadline=0.3))
    with serving(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", close=True)) as server:
        broken = failed(client_at(server.url))
    with serving(answering(b"<html>")) as server:
        odd = failed(client_at(server.url))
    with serving(answering(b"x" * 6_000_000)) as server:
        huge = failed(client_at(server.url))
    kinds = [explain(error).kind for error in (down, silent, broken, odd, huge)]
    assert kinds == [
        *(
            ErrorKind.UNREACHABLE,
            ErrorKind.SLOW,
            ErrorKind.BROKEN_OFF,
            ErrorKind.UNREADABLE,
            ErrorKind.UNREADABLE,
        )
    ]


def test_a_ca_of_our_own_is_trusted_where_ca_bundle_names_it(tmp_path, settings):
    pem = certificate(tmp_path, "localhost")
    server = secure(answering(b'{"content": []}'), pem)
    try:
        client = client_at(f"https://localhost:{server.port}")
        error = failed(client)
        assert explain(error).kind is ErrorKind.BAD_CERTIFICATE
        assert (error.unclear, server.requests) == (False, [])
        assert str(error).endswith("(self-signed certificate)")
        settings.CA_BUNDLE = str(pem)
        assert client.get_property("1").document == {"content": []}
    finally:
        server.close()


def test_a_workspace_without_credentials_says_so(db):
    workspace = Workspace.objects.create(slug="main", base_url="http://platform.test")
    with pytest.raises(AuthError) as caught:
        workspace.client()
    assert explain(caught.value).kind is ErrorKind.NO_CREDENTIALS


# --- what is said
def test_the_words_of_the_platform_stand_in_the_sentence_without_the_name_of_the_status():
    body = b'{"message": "Bad Request", "errors": [{"field": "title", "message": "too long"}]}'
    with serving(answering(body, status="400 Bad Request")) as server:
        problem = explain(failed(client_at(server.url)))
    assert problem.sentence == "The platform refused it: title: too long."
    assert problem.remedy == "Change what it names, and try again."
    assert explain(refused(422)).sentence == f"The platform refused it: {CALL}: 422."


@pytest.mark.parametrize(
    "text",
    ["", "in sync", "PATCH answered 200", "KeyError: 'x'", f"It may be there. {CALL}: 400 no"],
)
def test_a_sentence_of_ours_stays_as_it_is(text):
    assert (explain(text).sentence, explain(text).remedy, explain(text).details) == (text, "", "")


def test_what_no_worker_repeats_is_to_be_tried_again_by_whoever_asked():
    for status in (429, 502, 504):
        remedies = [explain(refused(status), is_repeated=said).remedy for said in (True, False)]
        assert "by itself" in remedies[0]
        assert remedies[1].startswith("Try again ")
    assert explain(refused(401), is_repeated=False) == explain(refused(401))


def test_each_meaning_is_short_and_no_meaning_holds_a_command():
    assert set(MEANINGS) == set(ErrorKind) - {ErrorKind.OTHER}
    for kind, (sentence, _) in MEANINGS.items():
        remedy = explain(Problem("x", kind)).remedy
        assert 0 < len(sentence) < 80
        assert remedy.endswith(".")
        assert "manage.py" not in f"{sentence}{remedy}"


@given(TEXTS, KINDS, TEXTS)
def test_any_problem_is_told_and_none_becomes_markup(text, kind, words):
    problem = Problem(f"{text}<script>", kind, f"{words}<script>")
    assert explain(problem).details in ("", problem)
    assert "<script>" not in problem_cell(problem)


def test_the_documentation_says_the_same_words():
    page = (REPOSITORY / "docs" / "troubles.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| ")]
    for kind, (sentence, _) in MEANINGS.items():
        cells = f"| {str(sentence).removesuffix(': %(words)s').rstrip('.')}"
        (row,) = [row for row in rows if row.startswith(cells)]
        assert explain(Problem("x", kind)).remedy in row
