"""The exceptions of bdnn."""


class Error(Exception):
    """Base of all errors that bdnn raises itself; its message says what was wrong, where, and what would be right.

    >>> import bdnn
    >>> try:
    ...     bdnn.ITQ.from_profile("fast")
    ... except bdnn.Error as error:
    ...     print(error)
    ITQ has no profile 'fast'; it has default
    """


class MisuseError(Error, ValueError):
    """The caller can fix it: a wrong parameter, an array of the wrong shape, more bits than the data allows."""


class FailureError(Error, OSError):
    """The cause is outside the program: a missing or damaged file, a full disk."""


class DamagedIndexError(FailureError):
    """Damage to an index file affects the operation; Index.salvage keeps the intact codes."""


for _type in (Error, MisuseError, FailureError, DamagedIndexError):
    _type.__module__ = "bdnn"
