"""A local cluster, fault injection and soak tests."""
