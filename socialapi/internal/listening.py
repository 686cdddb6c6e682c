"""Why a server cannot listen."""


def why_not_listening(problem: OSError | OverflowError) -> str:
    """Returns the system's reason why an address cannot be bound, without the words that asyncio puts in front of it."""
    return str(getattr(problem, "strerror", None) or problem).rpartition("): ")[2]
