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
    """The world is not as it should be: a file that is missing or damaged, a full disk."""


class DamagedIndexError(FailureError):
    """An index file is damaged where it matters; Index.salvage keeps what is sound."""


for _type in (Error, MisuseError, FailureError, DamagedIndexError):
    _type.__module__ = "bdnn"
