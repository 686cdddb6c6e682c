"""Explains why a server cannot listen."""


def why_not_listening(problem: OSError | OverflowError) -> str:
    """Returns the system's reason why an address cannot be bound, without the prefix that asyncio adds."""
    return str(getattr(problem, "strerror", None) or problem).rpartition("): ")[2]
