"""Options of the sockets to the API server."""

from __future__ import annotations

import socket
import sys

import pytest

from dynkube.rest._transport import _socket_options


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name these options differently")
def test_a_peer_that_vanished_is_noticed_within_a_minute_as_with_go() -> None:
    options = {(level, option): value for level, option, value in _socket_options()}

    assert options[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    idle, every, count = (
        options[socket.IPPROTO_TCP, option]
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + every * count == 60
    assert (idle, every) == (30, 10)
