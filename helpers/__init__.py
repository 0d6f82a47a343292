"""KV Cache by Hand: the package that the lessons import. Importing it costs nothing; its modules need torch.

The decoder stands on the ground floor (`decoder` shows it), the wings above it: `faults`, `ledger`, `bench`, `plots`,
`lab`, `checks`. `python -m helpers` lists what people start, which stands in `commands`.
"""

__version__ = "0.1.0"
