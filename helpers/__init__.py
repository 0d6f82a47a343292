"""KV Cache by Hand: the package that the lessons import. Importing it costs nothing; its modules need torch."""

__version__ = "0.1.0"
