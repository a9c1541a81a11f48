"""Where rows go, a file for each kind. A sink is a function of rows and of a micro-batch's number.

Micro-batches are repeated after a failure, so a sink is told the number and must not double what it
has written under it already; each file says how it does, or that it cannot.
"""
