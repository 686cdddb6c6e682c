"""What every group of methods holds: the session, and the options of its calls."""

from socialapi.session.session import CallOptions, Session


class Resource:
    """A group of methods."""

    def __init__(self, session: Session, options: CallOptions) -> None:
        self._session = session
        self._options = options
