"""How many repeats a host may be asked for, so that clients do not keep a struggling service down."""


class RetryBudget:
    """Every success earns one repeat, up to `size`; every repeat costs one.

    A service that answers two requests of three is never short of budget; one that answers none uses it up once.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    def earn(self) -> None:
        """An attempt succeeded."""
        self._left = min(self._size, self._left + 1)

    def spend(self) -> bool:
        """Takes one repeat; whether there was one."""
        if self._left < 1:
            return False
        self._left -= 1
        return True
