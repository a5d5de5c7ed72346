"""The bugs that the tests must see, else the suite is blind: what to plant, and who must fail."""

from dataclasses import dataclass

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"

PUSH = "tests/properties/test_push.py"
MACHINE = "tests/properties/test_push_machine.py"
DUE = "tests/crm_sync/test_due.py"
COMMITS = "tests/crm_sync/test_commits.py"
DISPATCH = "tests/crm_sync/test_doorbell.py"
DRAINS = "tests/journeys/test_drain_laws.py"
LANES = "tests/crm_sync/test_lanes.py"
RUNNER = "tests/crm_sync/test_runner.py"
TICKER = "tests/crm_sync/test_ticker.py"
CREATIONS = "tests/properties/test_creation_storm.py"
OUTAGE = "tests/properties/test_outage.py"
POISON = "tests/properties/test_poison.py"


@dataclass(frozen=True)
class Mutant:
    """One bug.

    Attributes:
        old: stands in the file exactly once.
        tests: what pytest is told to run, the directed one first; a test of each must fail.
        databases: where it is planted.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    databases: tuple[str, ...] = (SQLITE, POSTGRESQL)


MUTANTS = (
    Mutant(
        "nothing is recorded in flight (I2)",
        "properties/push/push.py",
        'return {"inflight": self._with_inflight(self.patch.parts)}',
        "return {}",
        (PUSH, MACHINE),
    ),
    Mutant(
        "the answer is copied over, not merged (I4)",
        "properties/pull/observation.py",
        "    merged = merge.three_way(",
        "    merged = merge.Merge() if sent is not None else merge.three_way(",
        (PUSH, MACHINE),
    ),
    Mutant(
        "no read before a write (I4)",
        "properties/push/push.py",
        "            self.workspace.read_before_write\n            or row.platform_id is None",
        "            row.platform_id is None",
        (PUSH, MACHINE),
    ),
    Mutant(
        "an unclear creation is repeated at once (I8)",
        "properties/push/push.py",
        "if sent_at is not None and self.clock() < sent_at + CREATE_WAIT:",
        "if False:",
        (PUSH, CREATIONS),
    ),
    Mutant(
        "a creation is sent without a read (I8)",
        "properties/push/push.py",
        "        if self._must_read():",
        "        if self._must_read() and self.row.platform_id is None:\n"
        "            return self._create(client)\n"
        "        if self._must_read():",
        (PUSH, CREATIONS),
    ),
    Mutant(
        "HTTP inside a transaction",
        "properties/push/push.py",
        "    return _Push(claim, workspace, clock).run()",
        "    with transaction.atomic():\n        return _Push(claim, workspace, clock).run()",
        ("tests/journeys/test_property_push.py",),
    ),
    Mutant(
        "the lease is not fenced (I3)",
        "crm_sync/jobs/due.py",
        '{"id": self.row.pk, "lease_token": self.token}',
        '{"id": self.row.pk}',
        (DUE, PUSH),
    ),
    Mutant(
        "the row of a stalled worker is not read again (I3)",
        "properties/push/push.py",
        "            self.holder.write(verify_at=self.clock() + due.LEASE)",
        "            pass",
        (PUSH, MACHINE),
    ),
    Mutant(
        "a call without an answer is not watched (I2)",
        "properties/push/push.py",
        'columns = {"verify_at": max(now + LATE_EFFECT, self.verify_at or now)}',
        "columns = {}",
        (PUSH,),
    ),
    Mutant(
        "the answer settles a revision that it is not about (I1)",
        "properties/push/holder.py",
        "done = write(changed, revision=before.revision)",
        "done = write(changed)",
        (MACHINE,),  # alone: an edit that makes the row due would keep it due all the same
    ),
    Mutant(
        "an ending holds for a revision that it is not about (I1)",
        "properties/push/holder.py",
        "self.claim.finish_if(columns, revision=self.row.revision)",
        "self.claim.finish_if(columns)",
        (PUSH,),
    ),
    Mutant(
        "one write that fails takes those of other threads with it",
        "crm_sync/jobs/commits.py",
        "        if len(batch) == 1:",
        "        if batch:",
        (COMMITS,),
        (SQLITE,),
    ),
    Mutant(
        "a row that is locked keeps the writes of other threads waiting",
        "crm_sync/jobs/fast_sql.py",
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE",
        (COMMITS,),
        (POSTGRESQL,),
    ),
    Mutant(
        "slots beyond the limit are taken (A8)",
        "crm_sync/workers/slots.py",
        "if number < most and number not in held]",
        "if number not in held]",
        ("tests/crm_sync/test_slots.py",),
    ),
    Mutant(
        "a claim takes what is not due",
        "crm_sync/jobs/due.py",
        "return is_due & unleased(now)",
        "return unleased(now)",
        (DUE,),
    ),
    Mutant(
        "what was claimed and not begun stays leased",
        "crm_sync/jobs/runner.py",
        "            self.source.give_back(claim)",
        "            pass",
        (RUNNER,),
        (SQLITE,),
    ),
    Mutant(
        "a row that fails stops the loop",
        "crm_sync/jobs/runner.py",
        "return [self.source.failed(claim, error) for claim in unit.claims]",
        "raise",
        (RUNNER, DRAINS),
        (SQLITE,),
    ),
    Mutant(
        "a drain goes on when its time is over",
        "crm_sync/workers/queues.py",
        "return self.clock() >= self.ends_at or ending.is_set()",
        "return ending.is_set()",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "a worker that is to end goes on",
        "crm_sync/workers/queues.py",
        "return self.clock() >= self.ends_at or ending.is_set()",
        "return self.clock() >= self.ends_at",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "who makes a row due while it is held is forgotten",
        "crm_sync/jobs/fast_sql.py",
        "WHEN {stands} = {{1}} THEN",
        "WHEN {stands} IS NOT NULL OR {stands} = {{1}} THEN",
        (DUE,),
    ),
    Mutant(
        "any number of workers drain one queue of a workspace",
        "crm_sync/workers/lanes.py",
        "is_ours = lane.filter(due.unleased(now)).update(**columns) == 1",
        "is_ours = lane.update(**columns) == 1",
        (LANES, DRAINS),
    ),
    Mutant(
        "who rings while a worker is at its last look is forgotten",
        "crm_sync/workers/lanes.py",
        "self.mine.filter(again=False).update(**due.RELEASED)",
        "self.mine.update(**due.RELEASED)",
        (LANES,),
    ),
    Mutant(
        "each process rings by itself",
        "crm_sync/workers/lanes.py",
        "waits = Q(rung_at__gt=now - RING_LASTS, rung_at__lt=now + RING_LASTS)",
        "waits = Q(pk=None)",
        (LANES,),
    ),
    Mutant(
        "one workspace takes all threads of the tick",
        "crm_sync/workers/ticker.py",
        "taken[pair[1]] < OF_ONE",
        "True",
        (TICKER,),
        (SQLITE,),
    ),
    Mutant(
        "who waits for longest is not the first",
        "crm_sync/workers/ticker.py",
        "key=lambda pair: turns.get(pair, LONG_AGO)",
        "key=lambda pair: LONG_AGO",
        (TICKER,),
        (SQLITE,),
    ),
    Mutant(
        "a long drain keeps its place while others wait",
        "crm_sync/workers/queues.py",
        "if crowded.is_set() and self.began is not None:",
        "if False:",
        (DRAINS,),
        (SQLITE,),
    ),
    Mutant(
        "a platform that is down is asked again at once (I11)",
        "crm_sync/models/workspace.py",
        "return min(LEAST_PAUSE + backoff(pauses), LONGEST_PAUSE)",
        "return timedelta(seconds=0.5)",
        (OUTAGE,),
        (SQLITE,),  # which knows nothing of it; the thousands of probes take long
    ),
    Mutant(
        "what was refused is tried again (I10)",
        "properties/push/push.py",
        "            due_at=self.clock() if named and rest.parts else self.verify_at,",
        "            due_at=self.clock() + due.backoff(3),",
        (POISON,),
    ),
    Mutant(
        "events are applied as they arrive (I22)",
        "orders/mirror/lww.py",
        "is_new = (mark, digest) < (stamp.at, stamp.digest)",
        "is_new = True",
        ("tests/orders/test_mirror.py",),
    ),
    Mutant(
        "an event is of the future by our clock, whatever the platform's shows (S11)",
        "crm_sync/platform/clock.py",
        "allowed = LIMIT + max(ahead or _NONE, _NONE)",
        "allowed = LIMIT",
        ("tests/crm_sync/test_clock.py",),
    ),
    Mutant(
        "a scheduled task goes over the workspaces by name, whoever was tried last",
        "properties/rounds.py",
        'tried.order_by(F("tried_at").asc(nulls_first=True), "slug")',
        'tried.order_by("slug")',
        ("tests/properties/test_rounds.py",),
    ),
    Mutant(
        "a value is set below a leaf (A10)",
        "properties/editing.py",
        "if not is_cleaned_up and (fault := misplaced(path)):",
        "if not is_cleaned_up and (fault := None):",
        ("tests/properties/test_leaves.py",),
    ),
    Mutant(
        "a slow read overwrites a newer event (I23)",
        "orders/mirror/lww.py",
        "_rows(row).filter(**unmoved).update(**columns)",
        "_rows(row).update(**columns)",
        ("tests/orders/test_reads.py",),
    ),
    Mutant(
        "a callback that was not stored is acknowledged (I15)",
        "crm_sync/inbox/view.py",
        'return _error(503, "cannot store it now")',
        'return HttpResponse(STORED, content_type="application/json")',
        ("tests/crm_sync/test_inbox_view.py",),
    ),
    Mutant(
        "secrets are compared as text (S1)",
        "crm_sync/inbox/auth.py",
        "sum(hmac.compare_digest(one, secret) for",
        'sum(hmac.compare_digest(one.decode("latin-1"), secret.decode()) for',
        ("tests/crm_sync/test_inbox_view.py",),
    ),
    Mutant(
        "who may call is remembered, and not looked at again (S6)",
        "crm_sync/inbox/view.py",
        "auth=known,",
        "auth=None,",
        ("tests/crm_sync/test_inbox_auth.py",),
    ),
    Mutant(
        "the endpoint rings itself, and not within bounds (I25)",
        "crm_sync/inbox/store.py",
        "doorbell.ring(QUEUE, workspace_id)\n            return True",
        "doorbell.publish(QUEUE, workspace_id)\n            return True",
        ("tests/crm_sync/test_inbox_view_ring.py",),
    ),
    Mutant(
        "a frozen broker keeps the ring waiting (I25)",
        "config/settings.py",
        '"socket_timeout": 0.5,',
        '"socket_timeout": 12,',
        # By itself: the others of the module share one Redis with what runs beside them.
        (f"{DISPATCH}::test_a_broker_that_is_away_costs_a_moment_and_only_once",),
        (SQLITE,),
    ),
    Mutant(
        "a closed connection to Redis ends the worker (I12)",
        "config/redis_broker.py",
        "if self.connection is None or self.connection.client is None:",
        "if False:",
        ("tests/config/test_broker.py", "tests/journeys/test_redis_restart.py"),
        (SQLITE,),
    ),
    Mutant(
        "a busy worker turns the web away from the load balancer",
        "crm_sync/health.py",
        "heartbeat.prove(Kind.WEB, socket.gethostname(), timezone.now())",
        "assert not stalled(timezone.now())",
        ("tests/crm_sync/test_health.py",),
    ),
    Mutant(
        "nobody misses a worker that fell silent",
        "crm_sync/workers/heartbeat.py",
        "return self.silence is None or self.silence > MISSING_AFTER",
        "return False",
        ("tests/crm_sync/test_standstill.py", "tests/crm_sync/test_health.py"),
    ),
)
