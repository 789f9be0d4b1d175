"""Local servers that speak the wire formats of services which tests must not reach."""
