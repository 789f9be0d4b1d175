"""What every test stands on: the test database, and its emptying after tests that commit."""

from __future__ import annotations
