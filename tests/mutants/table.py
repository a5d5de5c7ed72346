"""The bugs that the tests must see, else the suite is blind: what to plant, and who must fail."""

from dataclasses import dataclass

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
TEXT = ""

API = "tests/crm_sync/api/test_api.py"
API_ORDERS = "tests/orders/api/test_orders.py"
CHANGES = "tests/orders/test_order_changes_admin.py"
COMMITS = "tests/crm_sync/test_commits.py"
CONFIRMED = "tests/orders/test_confirmed.py"
CREATIONS = "tests/properties/test_creation_storm.py"
DISPATCH = "tests/crm_sync/test_doorbell.py"
DRAINS = "tests/journeys/test_drain_laws.py"
DUE = "tests/crm_sync/test_due.py"
FETCH = "tests/properties/sources/test_fetch.py"
LANES = "tests/crm_sync/test_lanes.py"
MACHINE = "tests/properties/test_push_machine.py"
MESSAGES = "tests/orders/test_outgoing_messages.py"
OUTAGE = "tests/properties/test_outage.py"
OUTGOING = "tests/crm_sync/test_outgoing.py"
PLACING = "tests/orders/test_placement_queue.py"
POISON = "tests/properties/test_poison.py"
PUSH = "tests/properties/test_push.py"
RESTORED = "tests/journeys/test_restored.py"
ROUTES = "tests/test_api_routes.py"
RUNNER = "tests/crm_sync/test_runner.py"
SOURCES = "tests/properties/sources/test_worker.py"
TICKER = "tests/crm_sync/test_ticker.py"
WRONG_SECRETS = "tests/crm_sync/test_wrong_secrets.py"


@dataclass(frozen=True)
class Mutant:
    """One bug.

    Attributes:
        within: the file or folder where the function is.
        function: its name, or `Class.method`; TEXT where `old` is a text of the file (SQL).
        old: an expression that stands once in the function; a capital letter is any expression.
        new: what it becomes.
        tests: what pytest is told to run, the directed one first; a test of each must fail.
        databases: where it is planted.
    """

    name: str
    within: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]
    databases: tuple[str, ...] = (SQLITE, POSTGRESQL)


MUTANTS = (
    Mutant(
        "nothing is recorded in flight (I2)",
        "properties/push",
        "EarlierCalls.inflight_with",
        "inflight.setdefault(A, [])",
        "[]",
        (PUSH, MACHINE),
    ),
    Mutant(
        "what a read teaches is not written before the PATCH (I4)",
        "properties/push",
        "write_plan",
        "A.is_written_in(B)",
        "True",
        (PUSH, MACHINE),
    ),
    Mutant(
        "what is given back unworked stays in flight (I4)",
        "crm_sync/jobs",
        "Claim.give_back",
        "self.found",
        "{}",
        (PUSH, MACHINE),
    ),
    Mutant(
        "the answer is copied over, not merged (I4)",
        "properties/pull",
        "observe",
        "merge.three_way(base=A, ours=B, theirs=C, inflight=D, equal=E)",
        "merge.Merge() if sent is not None"
        " else merge.three_way(base=A, ours=B, theirs=C, inflight=D, equal=E)",
        (PUSH, MACHINE),
    ),
    Mutant(
        "no read before a write (I4)",
        "properties/push",
        "_must_read",
        "self.workspace.read_before_write",
        "False",
        (PUSH, MACHINE),
    ),
    Mutant(
        "an unclear creation is repeated at once (I8)",
        "properties/push",
        "_create",
        "plan.unclear_until(A, now=B)",
        "None",
        (PUSH, CREATIONS),
    ),
    Mutant(
        "a creation is sent without a read (I8)",
        "properties/push",
        "run",
        "read(A, B)",
        "Read(None, False) if B.platform_id is None else read(A, B)",
        (PUSH, CREATIONS),
    ),
    Mutant(
        "HTTP inside a transaction",
        "properties/push",
        "push",
        "A.run(B)",
        '__import__("django.db.transaction", fromlist=["atomic"]).atomic()(A.run)(B)',
        ("tests/journeys/test_property_push.py",),
    ),
    Mutant(
        "the lease is not fenced (I3)",
        "crm_sync/jobs",
        "Claim._ours",
        '{"id": A, "lease_token": B}',
        '{"id": A}',
        (DUE, PUSH),
    ),
    Mutant(
        "the row of a stalled worker is not read again (I3)",
        "properties/push",
        "earlier_calls",
        "A + due.LEASE if abandoned else B",
        "B",
        (PUSH, MACHINE),
    ),
    Mutant(
        "a call without an answer is not watched (I2)",
        "properties/push",
        "delayed",
        '{"verify_at": A}',
        "{}",
        (PUSH,),
    ),
    Mutant(
        "what a read brings is written over an edit that came with it (I1)",
        "properties/push",
        "Holder._write",
        "A._finish if B else A.claim.write",
        "A._finish if B else lambda columns, revision: A.claim.write(columns)",
        (PUSH,),
    ),
    Mutant(
        "an ending holds for a revision that it is not about (I1)",
        "properties/push",
        "Holder._finish",
        "A.finish_if(B, revision=C)",
        "A.finish_if(B)",
        (PUSH,),
    ),
    Mutant(
        "one write that fails takes those of other threads with it",
        "crm_sync/jobs",
        "_in_one_transaction",
        "len(A) == 1",
        "A",
        (COMMITS,),
        (SQLITE,),
    ),
    Mutant(
        "a row that is locked keeps the writes of other threads waiting",
        "crm_sync/jobs/fast_sql.py",
        TEXT,
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE",
        (COMMITS,),
        (POSTGRESQL,),
    ),
    Mutant(
        "slots beyond the limit are taken (A8)",
        "crm_sync/workers",
        "_free",
        "number < most and number not in A",
        "number not in A",
        ("tests/crm_sync/test_slots.py",),
    ),
    Mutant(
        "a claim takes what is not due",
        "crm_sync/jobs",
        "free",
        "is_due & unleased(A)",
        "unleased(A)",
        (DUE,),
    ),
    Mutant(
        "what was claimed and not begun stays leased",
        "crm_sync/jobs",
        "_give_back",
        "self.source.give_back(A)",
        "None",
        (RUNNER,),
        (SQLITE,),
    ),
    Mutant(
        "a row that fails stops the loop",
        "crm_sync/jobs",
        "_outcomes",
        "self.source.failed(A, B)",
        "(_ for _ in ()).throw(B)",
        (RUNNER, DRAINS),
        (SQLITE,),
    ),
    Mutant(
        "a drain goes on when its time is over",
        "crm_sync/workers",
        "Drain.is_over",
        "A >= self.ends_at or B",
        "B",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "a worker that is to end goes on",
        "crm_sync/workers",
        "Drain.is_over",
        "A >= self.ends_at or B",
        "A >= self.ends_at",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "who makes a row due while it is leased is forgotten",
        "crm_sync/jobs/fast_sql.py",
        TEXT,
        "WHEN {stands} = {{1}} THEN",
        "WHEN {stands} IS NOT NULL OR {stands} = {{1}} THEN",
        (DUE,),
    ),
    Mutant(
        "any number of workers drain one queue of a workspace",
        "crm_sync/workers",
        "_enter",
        "A.filter(due.unleased(B))",
        "A",
        (LANES, DRAINS),
    ),
    Mutant(
        "who rings while a worker is at its last look is forgotten",
        "crm_sync/workers",
        "leave",
        "A.filter(again=False)",
        "A",
        (LANES,),
    ),
    Mutant(
        "each process rings by itself",
        "crm_sync/workers",
        "may_ring",
        "Q(rung_at__gt=A, rung_at__lt=B)",
        "Q(pk=None)",
        (LANES,),
    ),
    Mutant(
        "one workspace takes all threads of the tick",
        "crm_sync/workers",
        "_next",
        "A < OF_ONE",
        "True",
        (TICKER,),
        (SQLITE,),
    ),
    Mutant(
        "who waits for longest is not the first",
        "crm_sync/workers",
        "tick",
        "turns.get(A, LONG_AGO)",
        "LONG_AGO",
        (TICKER,),
        (SQLITE,),
    ),
    Mutant(
        "a long drain keeps its place while others wait",
        "crm_sync/workers",
        "Drain.is_over",
        "crowded.is_set() and A",
        "False",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "a platform that is down is asked again at once (I11)",
        "crm_sync/models",
        "_probing",
        "min(A, LONGEST_PAUSE)",
        "timedelta(seconds=0.5)",
        (OUTAGE,),
        (SQLITE,),  # which knows nothing of it; the thousands of probes take long
    ),
    Mutant(
        "what was refused is tried again (I10)",
        "properties/push",
        "refused",
        "A if named and B.parts else C",
        "A + due.backoff(3)",
        (POISON,),
    ),
    Mutant(
        "events are applied as they arrive (I22)",
        "orders/mirror",
        "write",
        "(mark, digest) < A",
        "True",
        ("tests/orders/test_mirror.py",),
    ),
    Mutant(
        "an event is of the future by our clock, whatever the platform's shows (S11)",
        "crm_sync/platform",
        "too_early",
        "LIMIT + A",
        "LIMIT",
        ("tests/crm_sync/test_clock.py",),
    ),
    Mutant(
        "a scheduled task goes over the workspaces by name, whoever was tried last",
        "properties/rounds.py",
        "longest_ago",
        'A.order_by(B, "slug")',
        'A.order_by("slug")',
        ("tests/properties/test_rounds.py",),
    ),
    Mutant(
        "a value is set below a leaf (A10)",
        "properties/editing.py",
        "faults",
        "misplaced(A)",
        "None",
        ("tests/properties/test_leaves.py",),
    ),
    Mutant(
        "a person confirms what she has not seen (I9)",
        "orders/placing/confirmation.py",
        "confirm",
        "Placement.objects.filter(pk=A, state=B, confirmed_at=None, revision=C)",
        "Placement.objects.filter(pk=A, state=B, confirmed_at=None)",
        (PLACING,),
    ),
    Mutant(
        "an order is sent that another worker is sending (I9)",
        "orders/placing/sending.py",
        "_send",
        "A.update(state=B, sent_at=C, **D) != 1",
        "A.update(state=B, sent_at=C, **D) > 1",
        (PLACING,),
    ),
    Mutant(
        "a sender that died sends its order again (I9)",
        "orders/placing/due_placement.py",
        "_give_up",
        "settlement.uncertain(A, B)",
        "settlement.end(A, State.READY, B)",
        (PLACING,),
    ),
    Mutant(
        "an order is sent at another price than the one of the review",
        "orders/placing/due_placement.py",
        "_place",
        "changed_prices(A, B)",
        "[]",
        (PLACING,),
    ),
    Mutant(
        "a slow read overwrites a newer event (I23)",
        "orders/mirror",
        "observe",
        "A.filter(**unchanged)",
        "A",
        ("tests/orders/test_reads.py",),
    ),
    Mutant(
        "what the detail of an order leaves out of an assignment is erased (A35)",
        "orders/mirror",
        "_facts",
        "name not in item and not A",
        "False",
        ("tests/orders/test_assignment_reads.py",),
    ),
    Mutant(
        "who is missing in one walk over the users is gone (I32)",
        "orders/mirror",
        "_is_due_again",
        "there.filter(seen_in__lt=row.complete)",
        "there.filter(seen_in__lt=row.walk)",
        ("tests/orders/test_users.py",),
    ),
    Mutant(
        "a pull changes the account that a person chose (I32)",
        "orders/mirror",
        "_fill",
        "not row.is_tied_by_hand",
        "True",
        ("tests/orders/test_users.py",),
    ),
    Mutant(
        "an answer without a document shows that a list was emptied (§4.6)",
        "properties/push",
        "Sent.is_shown_by",
        "not answer",
        "answer is None",
        (PUSH,),
    ),
    Mutant(
        "a file is asked for at an address of our own network (S13)",
        "crm_sync/platform",
        "resolve",
        "not all(_may_be_asked(ip, inside) for ip in ips)",
        "False",
        ("tests/crm_sync/test_outside.py",),
    ),
    Mutant(
        "a file of another size than announced is stored (I27)",
        "orders/materials",
        "_fetch",
        "expected is not None and size != expected",
        "False",
        ("tests/orders/test_download.py",),
    ),
    Mutant(
        "photos are fetched in one quality alone (§4.5)",
        "orders/materials",
        "_qualities",
        "ready.product in PHOTO_PRODUCTS or A",
        "False",
        ("tests/orders/test_materials.py",),
    ),
    Mutant(
        "a callback under the name from before is refused (§2.1)",
        "crm_sync/inbox",
        "CachedAuth.lets_in",
        "workspace.valid_auth_names(now)",
        "workspace.valid_auth_names(now)[:2]",
        ("tests/crm_sync/test_webhook_configuration.py",),
    ),
    Mutant(
        "a callback that was not stored is acknowledged (I15)",
        "crm_sync/inbox",
        "take",
        '_error(503, "cannot store it now")',
        'HttpResponse(STORED, content_type="application/json")',
        ("tests/crm_sync/test_inbox_view.py",),
    ),
    Mutant(
        "secrets are compared as text (S1)",
        "crm_sync/inbox",
        "lets_in",
        "hmac.compare_digest(A, B)",
        'hmac.compare_digest(A.decode("latin-1"), B.decode())',
        ("tests/crm_sync/test_inbox_view.py",),
    ),
    Mutant(
        "who may call is remembered, and not looked at again (S6)",
        "crm_sync/inbox",
        "_store",
        "store.store(A, B, headers=C, method=D, source=E, now=F, auth=G)",
        "store.store(A, B, headers=C, method=D, source=E, now=F, auth=None)",
        ("tests/crm_sync/test_inbox_auth.py",),
    ),
    Mutant(
        "the endpoint rings itself, and not within bounds (I25)",
        "crm_sync/inbox",
        "store",
        "doorbell.ring(A, B)",
        "doorbell.publish(A, B)",
        ("tests/crm_sync/test_inbox_view_ring.py",),
    ),
    Mutant(
        "a frozen broker keeps the ring waiting (I25)",
        "config/settings.py",
        TEXT,
        '"socket_timeout": 0.5,',
        '"socket_timeout": 12,',
        # By itself: the others of the module share one Redis with what runs beside them.
        (f"{DISPATCH}::test_a_broker_that_is_away_costs_a_moment_and_only_once",),
        (SQLITE,),
    ),
    Mutant(
        "a closed connection to Redis ends the worker (I12)",
        "config",
        "_connparams",
        "self.connection is None or A",
        "False",
        ("tests/config/test_broker.py", "tests/journeys/test_redis_restart.py"),
        (SQLITE,),
    ),
    Mutant(
        "a busy worker turns the web away from the load balancer",
        "crm_sync/health.py",
        "readyz",
        "heartbeat.prove(A, B, C)",
        "(_ for _ in ()).throw(Error()) if stalled(C) else None",
        ("tests/crm_sync/test_health.py",),
    ),
    Mutant(
        "nobody misses a worker that fell silent",
        "crm_sync/workers",
        "is_missing",
        "A or self.silence > MISSING_AFTER",
        "False",
        ("tests/crm_sync/test_stalled.py", "tests/crm_sync/test_health.py"),
    ),
    Mutant(
        "a form that arrives twice sends twice (§4.4)",
        "orders/placing",
        "_remember",
        "token or uuid4()",
        "uuid4()",
        (CHANGES,),
    ),
    Mutant(
        "a # in a text of IDX moves the columns behind it",
        "properties/feeds/idx",
        "Layout.fault",
        "count > WIDTH",
        "False",
        ("tests/properties/feeds/test_idx_layout.py", "tests/properties/feeds/test_idx_laws.py"),
        (SQLITE,),
    ),
    Mutant(
        "a token may do what no scope of it allows (S12)",
        "crm_sync/api",
        "HasScope.has_permission",
        "A in request.auth.scopes",
        "True",
        (f"{API}::test_a_scope_that_is_missing_is_403_and_names_it",),
        (SQLITE,),
    ),
    Mutant(
        "a token of one workspace reads the rows of another (S12)",
        "crm_sync/api",
        "View.within",
        "rows.filter(**A)",
        "rows",
        (f"{ROUTES}::test_a_token_of_another_workspace_finds_nothing_and_changes_nothing",),
        (SQLITE,),
    ),
    Mutant(
        "the database holds the tokens of the API in the clear (S5)",
        "crm_sync/api",
        "_digest",
        "hashlib.sha256(A).hexdigest()",
        "token",
        (f"{API}::test_a_token_is_shown_once_and_only_its_digest_is_kept",),
        (SQLITE,),
    ),
    Mutant(
        "a token may call as often as it likes (S12)",
        "crm_sync/api",
        "TokenRate.allow_request",
        "A <= settings.API_CALLS_A_MINUTE",
        "A > 0",
        (f"{API}::test_a_token_that_calls_too_often_waits_for_the_next_minute",),
        (SQLITE,),
    ),
    Mutant(
        "one key of a program orders twice (I9)",
        "orders/placing",
        "place_once",
        "(key, digest, program)",
        '(f"{key} {now}", digest, program)',
        (f"{API_ORDERS}::test_a_key_that_names_another_wish_is_refused_and_one_is_required",),
        (SQLITE,),
    ),
    Mutant(
        "a signature holds for a message of any age",
        "crm_sync/outgoing",
        "headers",
        'b".".join((A, B, body))',
        'b".".join((A, body))',
        (f"{OUTGOING}::test_the_signature_is_that_of_the_specification",),
        (SQLITE,),
    ),
    Mutant(
        "a message that is not taken is tried again at once",
        "crm_sync/outgoing",
        "next_try",
        "now + delay * A",
        "now",
        (f"{OUTGOING}::test_what_is_not_taken_is_tried_again_by_the_schedule",),
        (SQLITE,),
    ),
    Mutant(
        "a push has ended before its message is written",
        "properties/push",
        "Holder._finish",
        "outgoing.tell(row, message, now=now)",
        "transaction.on_commit(lambda: outgoing.tell(row, message, now=now))",
        (f"{MESSAGES}::test_a_push_has_not_ended_before_its_message_is_written",),
        (SQLITE,),
    ),
    Mutant(
        "an address that somebody gave us leads into our own network (S13)",
        "crm_sync/platform",
        "_may_be_asked",
        "addresses.is_public(ip) or A",
        "True",
        (
            f"{FETCH}::test_our_own_network_is_refused_unless_it_is_named",
            f"{OUTGOING}::test_our_own_network_and_plain_http_are_not_told",
        ),
        (SQLITE,),
    ),
    Mutant(
        "a feed that is the same as the last one is imported again",
        "properties/sources",
        "_Look._is_same",
        "(arrived.digest, A) != B",
        "True",
        (f"{SOURCES}::test_a_file_without_a_date_is_told_by_its_digest",),
        (SQLITE,),
    ),
    Mutant(
        "a feed of a source may lack most of what it held",
        "properties/imports",
        "FullFeedGuard.fault",
        "missing <= A",
        "True",
        (f"{SOURCES}::test_a_feed_that_shrinks_is_not_imported_and_told_once",),
        (SQLITE,),
    ),
    Mutant(
        "a restored backup overwrites what is newer on the platform (I4)",
        "properties/push",
        "reconcile",
        "document is not None and after_restore.is_unread(row, restored_at)",
        "False",
        (f"{RESTORED}::test_after_restored_nothing_that_is_newer_on_the_platform_is_overwritten",),
        (SQLITE,),
    ),
    Mutant(
        "each wrong secret costs a write (S22)",
        "crm_sync/inbox",
        "_refuse",
        "wrong.are_too_many(A, B, most=C, now=D)",
        "False",
        (f"{WRONG_SECRETS}::test_who_is_over_the_limit_is_so_for_one_workspace_and_one_address",),
        (SQLITE,),
    ),
    Mutant(
        "an event alone confirms what it says (S10)",
        "orders/mirror",
        "write",
        "lww_field.confirmed and before != value",
        "False",
        (f"{CONFIRMED}::test_a_forged_end_is_marked_told_to_nobody_and_reverted_by_the_read",),
        (SQLITE,),
    ),
)
