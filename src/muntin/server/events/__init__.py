"""Events: what micro-batches answer, sent to everybody who watches."""
