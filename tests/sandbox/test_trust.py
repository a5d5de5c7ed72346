"""The sandbox sends callbacks to an address whose certificate is of a CA of one's own."""

import pytest
import requests

from sandbox.deadline import session
from tests.crm_sync.sockets import answering
from tests.crm_sync.test_outside import certificate, secure


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_callback_goes_where_the_certificate_is_of_a_trusted_ca(
    tmp_path, monkeypatch, is_trusted
):
    pem = certificate(tmp_path, "localhost")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    if is_trusted:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(pem))
    server = secure(answering(b"taken"), pem)
    try:
        url = f"https://localhost:{server.port}/callback"
        if is_trusted:
            assert session().post(url, data=b"{}", timeout=5).content == b"taken"
        else:
            with pytest.raises(requests.exceptions.SSLError):
                session().post(url, data=b"{}", timeout=5)
            assert server.requests == []
    finally:
        server.close()
