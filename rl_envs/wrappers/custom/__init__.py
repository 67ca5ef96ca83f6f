"""Custom environments as worlds: any PettingZoo parallel environment, or a Gymnasium environment as a team of one.

`build` finds and builds environments; `declaration` and `layout` read what an environment declares; `checked_env`,
`choices` and `values` check what it returns; `copies` and `processes` step several of them; `world` is the `World`.
"""
