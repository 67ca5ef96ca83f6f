"""Rules for planning in Overcooked's kitchens: what a good planner would answer, computed without a language model.

They read and write states in the sentences of the world `overcooked` (one line each for the step, every pot, the
counters and every chef) and its drawing of the layout, and know nothing else of that world.
"""
