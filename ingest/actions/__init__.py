"""What the system does about facts by itself, once they are current: tasks, blockers, alerts, flags and messages."""
