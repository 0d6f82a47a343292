"""Six decoders written as other people write them, and the mistakes that are made in such code.

They were written, and each mistake's fair answers noted, without a look at the bugs that the audit can name.
"""
