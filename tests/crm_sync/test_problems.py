"""What went wrong with a call, in one sentence: every class of error, and real answers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crm_sync.models import Workspace
from crm_sync.platform import errors
from crm_sync.platform.client import Client
from crm_sync.platform.credentials import FixedToken
from crm_sync.platform.errors import AuthError, NotFoundError, RejectedError, TransientError
from crm_sync.platform.problems import MEANINGS, Kind, explain
from crm_sync.templatetags.problems import problem_cell
from sandbox.faults.rules import REFUSALS
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.sockets import answering, free_port, saying, serving
from tests.crm_sync.test_outside import certificate, secure

REPOSITORY = Path(__file__).resolve().parents[2]
CALL = "GET http://platform.test/v1/webhooks"


def failed(client: Client) -> errors.SyncError:
    with pytest.raises(errors.SyncError) as caught:
        client.get_webhook()
    return caught.value


def client_at(address: str, deadline: float = 2.0) -> Client:
    return Client(address, FixedToken(TOKEN), deadline=deadline)


# --- each class of error
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TransientError(f"{CALL}: {errors.CANNOT_CONNECT}", unclear=False), Kind.UNREACHABLE),
        (TransientError(f"{CALL}: 429", unclear=False, pauses=True), Kind.BUSY),
        (RejectedError(f"{CALL}: 400 no", status=400), Kind.REFUSED),
        (NotFoundError(f"{CALL}: 404 Not Found"), Kind.NOT_FOUND),
        (AuthError(f"{CALL}: 401 Unauthorized", expired=True), Kind.UNAUTHORIZED),
        (AuthError(f"workspace main {errors.NO_CREDENTIALS}: see …"), Kind.NO_CREDENTIALS),
        (RejectedError("the id 'x' is too long", status=400), Kind.OTHER),
        (AuthError("the token is empty"), Kind.OTHER),
    ],
)
def test_each_class_of_error_is_told_like_its_stored_text(error, kind):
    problem = explain(error)
    assert (problem.kind, problem) == (kind, explain(str(error)))
    sentence, remedy = MEANINGS.get(kind, (str(error), ""))
    assert (problem.sentence.startswith(sentence), problem.remedy) == (True, remedy)


def test_every_class_of_error_is_among_them():
    classes = {errors.TransientError, errors.RejectedError, errors.NotFoundError, errors.AuthError}
    assert set(errors.SyncError.__subclasses__()) == classes


# --- real answers
STATUSES = {
    302: Kind.ELSEWHERE,
    400: Kind.REFUSED,
    401: Kind.UNAUTHORIZED,
    403: Kind.FORBIDDEN,
    404: Kind.NOT_FOUND,
    405: Kind.ELSEWHERE,
    408: Kind.SLOW,
    409: Kind.NOT_ALLOWED,
    410: Kind.NOT_FOUND,
    412: Kind.LOCKED,
    413: Kind.TOO_LARGE,
    415: Kind.ELSEWHERE,
    418: Kind.REFUSED,
    422: Kind.REFUSED,
    423: Kind.LOCKED,
    429: Kind.BUSY,
    500: Kind.DOWN,
    502: Kind.DOWN,
    503: Kind.DOWN,
    504: Kind.SLOW,
}


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_a_sentence_and_its_stored_text_the_same_one(status, kind):
    body = b'{"message": "No such luck", "errors": [{"field": "title", "message": "too long"}]}'
    with serving(answering(body, status=f"{status} Whatever")) as server:
        error = failed(client_at(server.url))
    problem = explain(error)
    assert problem.kind is kind
    assert explain(str(error)) == problem
    assert ("No such luck; title: too long" in problem.sentence) == (
        kind in (Kind.REFUSED, Kind.NOT_ALLOWED)
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
    kinds = [explain(str(error)).kind for error in (down, silent, broken, odd, huge)]
    assert kinds == [
        *(Kind.UNREACHABLE, Kind.SLOW, Kind.BROKEN_OFF, Kind.UNREADABLE, Kind.UNREADABLE)
    ]


def test_a_ca_of_our_own_is_trusted_where_ca_bundle_names_it(tmp_path, settings):
    pem = certificate(tmp_path, "localhost")
    server = secure(answering(b'{"content": []}'), pem)
    try:
        client = client_at(f"https://localhost:{server.port}")
        error = failed(client)
        assert explain(str(error)).kind is Kind.BAD_CERTIFICATE
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
    assert explain(str(caught.value)).kind is Kind.NO_CREDENTIALS


# --- what is said
def test_the_words_of_the_platform_stand_in_the_sentence_without_the_name_of_the_status():
    problem = explain(f"{CALL}: 400 Bad Request; title: too long")
    assert problem.sentence == "The platform refused it: title: too long."
    assert problem.remedy == "Change what it names, and save."
    assert explain(f"{CALL}: 422").sentence == f"The platform refused it: {CALL}: 422."


@pytest.mark.parametrize(
    "text",
    ["", "in sync", "PATCH answered 200", "KeyError: 'x'", f"It may be there. {CALL}: 400 no"],
)
def test_a_sentence_of_ours_stays_as_it_is(text):
    assert (explain(text).sentence, explain(text).remedy, explain(text).details) == (text, "", "")


def test_what_no_worker_repeats_is_to_be_tried_again_by_whoever_asked():
    for status in (429, 502, 504):
        remedies = [explain(f"{CALL}: {status}", is_repeated=said).remedy for said in (True, False)]
        assert "by itself" in remedies[0]
        assert remedies[1].startswith("Try again ")
    assert explain(f"{CALL}: 401", is_repeated=False) == explain(f"{CALL}: 401")


def test_each_meaning_is_short_and_no_meaning_holds_a_command():
    assert set(MEANINGS) == set(Kind) - {Kind.OTHER}
    for sentence, remedy in MEANINGS.values():
        assert 0 < len(sentence) < 80
        assert remedy.endswith(".")
        assert "manage.py" not in f"{sentence}{remedy}"


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda text: f"{CALL}: 400 {text}"))
def test_any_text_is_told_and_none_becomes_markup(text):
    problem = explain(text)
    assert problem.details in ("", text)
    shown = problem_cell(f"{text}<script>")
    assert "<script>" not in shown


def test_the_documentation_says_the_same_words():
    page = (REPOSITORY / "docs" / "troubles.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| ")]
    for sentence, remedy in MEANINGS.values():
        cells = f"| {sentence.rstrip('.')}"
        (row,) = [row for row in rows if row.startswith(cells)]
        assert remedy in row
