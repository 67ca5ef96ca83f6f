"""Client of a chat endpoint: requests, limits of time and cost, a record on disk, and checked answers.

A caller builds a `Question` (a request, a function that reads the reply, and a fallback) and passes it to a
`ChatClient`. Every question ends with a value, whatever the endpoint does. This package is independent of environments,
planners and networks, imports neither torch nor Ray, and never runs what a model wrote.
"""
