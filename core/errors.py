"""The one exception whose text is written for the user."""


class UserError(Exception):
    """Something the user can put right.

    The message is one or two plain sentences: what is wrong, then what to do. The window shows it in a dialog and
    the command line prints it and leaves with exit code 2; neither shows a traceback for it.
    """
