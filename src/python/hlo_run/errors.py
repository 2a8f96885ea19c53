"""Exceptions of hlo_run."""


class Error(Exception):
    """The base of all errors of this package."""


class InvalidInput(Error, ValueError):
    """A module, an argument or an option is wrong."""


class InvalidModule(InvalidInput):
    """A module does not parse, or breaks a rule. `diagnostics` has all errors with their places."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class Unsupported(Error, NotImplementedError):
    """The module is valid, and this build cannot evaluate it."""


class LimitReached(Error):
    """A limit of memory, time, steps or nesting was hit."""


class Cancelled(Error):
    """The run was interrupted, and the handler of the signal went on."""
