"""What every read leaves behind: its trace, and what is asked about it afterwards."""
