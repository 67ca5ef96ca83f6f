"""Running a reward function that a language model wrote (SAMA, section 3.3 "Reward Design").

Three walls, each of which would hold alone against most of what the others hold against: a list of allowed syntax, a
process of its own with nothing to reach and limits on time and memory, and a trial on known pairs of states. Nothing
here knows a world; model-written code runs in that process and nowhere else.
"""
