"""The admin: stock Django admin with our own pages, in which people look at memory and decide about it.

Nothing here holds a rule: what may be seen comes from ``governance`` (through ``sight``), and every change is a call of
a service. Pages of governed records are read-only; their buttons post to small views.
"""
