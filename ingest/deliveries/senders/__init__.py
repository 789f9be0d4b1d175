"""The three ways out. Each is given a :class:`Parcel` outside of any transaction, returns what the receiver calls it,
or raises :class:`NotSent`."""
