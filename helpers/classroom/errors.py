"""What goes wrong in a class."""


class ClassError(Exception):
    """Something that the teacher can mend; the message says how."""
