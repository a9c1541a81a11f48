"""One file for each kind of frame: its columns, its types, and its fields in the kernels' record.

A kind is a subclass of :class:`muntin.operators.frames.arrow_kind.ArrowKind`. The table in
:mod:`muntin.operators.frames.build` says which one belongs to which spec.
"""
