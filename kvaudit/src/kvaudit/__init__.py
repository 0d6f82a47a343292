"""The audit: prove that a cached decoder computes what the uncached model computes, or say which bug it has."""
