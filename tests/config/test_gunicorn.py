"""The settings of gunicorn."""

import gc

from config.gunicorn import post_worker_init


def test_a_worker_leaves_what_is_loaded_out_of_garbage_collections():
    gc.unfreeze()
    post_worker_init(None)
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    assert frozen > 10_000  # Django alone has more
