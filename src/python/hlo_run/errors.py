"""Exceptions of hlo_run."""


class Error(Exception):
    """The base class of all errors of this package."""


class InvalidInput(Error, ValueError):
    """A module, an argument or an option is wrong."""


class InvalidModule(InvalidInput):
    """A module does not parse or violates a rule. `diagnostics` contains all errors with their locations."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class Unsupported(Error, NotImplementedError):
    """The module is valid, but this build cannot evaluate it."""


class LimitReached(Error):
    """A limit of memory, time, steps or nesting was exceeded."""


class Cancelled(Error):
    """The run was interrupted, and the signal handler returned normally."""
