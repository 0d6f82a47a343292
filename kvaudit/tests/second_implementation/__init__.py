"""A decoder written a second time, by other habits: no nn.Module, other names, other layouts, its own faults.

It exists to test the audit on code that the audit has never seen. Nothing here imports from `helpers` but the adapter.
"""
