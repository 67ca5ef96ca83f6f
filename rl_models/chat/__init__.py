"""Talking to a chat model: requests, an endpoint behind bounds, a record on disk, and answers that are checked.

Text in, checked values out. A caller builds a `Question` (what to ask, how to read the reply, what to do without one)
and hands it to an `Asker`; whatever the other side does, each question ends with a value. Nothing here knows a world, a
planner or a network, imports torch or Ray, or runs what a model wrote.
"""
