"""Synopses over the last stretch of a stream (Datar et al., *Maintaining Stream Statistics*)."""
