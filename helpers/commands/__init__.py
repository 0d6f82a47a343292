"""What people start with `python -m helpers COMMAND`, one module a command: its options, its printing, its exit codes.

What a command computes stands in a wing. From outside: nothing but `helpers.__main__` imports this, and lesson 00, which
looks at the environment.
"""
