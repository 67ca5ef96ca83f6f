"""Running a reward function that a language model wrote (SAMA, section 3.3 "Reward Design").

Three independent barriers: a list of allowed syntax, a process of its own without access to anything and with limits on
time and memory, and a trial on known pairs of states. Model-written code runs in that process only.
"""
