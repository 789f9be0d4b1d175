from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.public_addresses import AddressRefused, check_address, check_url


@pytest.fixture(autouse=True)
def _nothing_named(settings: Any) -> None:
    settings.MEMORY_INTERNAL_HOSTS = ()
    settings.MEMORY_OUTGOING_PORTS = ("80", "443")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "//example.com/",
        "example.com",
        "http://",
        "http:///path",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com:8080/",
        "http://example.com:22/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:x/",
        "http://exa mple.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com/\r\nX: y",
        "http://example.com/\x00",
        "http://exam\u3002ple..com/",
        "http://-example.com/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://①②⑦.0.0.1/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://198.18.0.1/",
        "http://192.0.2.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fc00::1]/",
        "http://[ff02::1]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2001::1]/",
        "http://[2001:db8::1]/",
        "http://[2606:4700::5efe:7f00:1]/",
        "http://[::1/",
        "http://" + "a" * 64 + ".com/",
        "http://example.com/" + "x" * 2_000,
    ],
)
def test_an_address_that_is_not_public_or_not_plain_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        check_url(url)
    assert refused.value.code == "address_refused"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://EXAMPLE.com:443/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com./é x".replace(" ", "%20"), "http://example.com/%C3%A9%20x"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"),
        ("http://example.com:443/", "http://example.com:443/"),
    ],
)
def test_a_public_address_is_read_in_one_spelling(url: str, shown: str) -> None:
    assert check_url(url).url == shown


def test_a_named_host_may_be_internal_but_never_local_to_a_link(settings: Any) -> None:
    settings.MEMORY_INTERNAL_HOSTS = ("wiki.internal", "10.1.2.3:8080", "169.254.169.254", "[::1]:9000")
    assert check_url("http://wiki.internal/").internal
    assert check_url("http://10.1.2.3:8080/x").url == "http://10.1.2.3:8080/x"
    assert check_url("http://[::1]:9000/").internal
    for other in ("http://wiki.internal:8080/", "http://10.1.2.3/", "http://10.1.2.4:8080/", "http://169.254.169.254/"):
        with pytest.raises(AddressRefused):
            check_url(other)
    check_address("127.0.0.1", internal=True)
    for never in ("169.254.169.254", "::ffff:10.0.0.1", "0.0.0.0", "224.0.0.1"):
        with pytest.raises(AddressRefused):
            check_address(never, internal=True)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_no_carrier_of_an_ipv4_address_is_ever_let_through(number: int) -> None:
    for carrier in (0xFFFF << 32, 0x64FF9B << 96, 0x2002 << 112):
        value = carrier | (number << 80 if carrier == 0x2002 << 112 else number)
        address = ":".join(f"{value >> shift & 0xFFFF:x}" for shift in range(112, -16, -16))
        with pytest.raises(AddressRefused):
            check_address(address, internal=False)


@given(st.text(max_size=60))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    shown = ""
    with suppress(AddressRefused):
        shown = check_url("http://" + text).url
    assert shown.isascii()
    assert not shown or check_url(shown).url == shown
