"""Read to Fight Monsters (RTFM, Zhong et al., ICLR 2020, section 3) for one agent, and for teams as in EnDi (2023, A.1).

A document says which modifiers beat which element and which monsters are in which team; the goal names a team. Agents
fetch the items whose modifiers beat the elements of that team's monsters and walk into those monsters with them. N
agents face N targets with N right items; a distractor monster and a distractor item invite those who do not read.

| | |
|---|---|
| agents | `agent_0` ... `agent_{N-1}`, 1 to 3 of them |
| actions | 5: stay, up, down, left, right; a move into a wall does nothing |
| observation `grid` | [H, W, P] uint8, names of what is in each cell, highest first (agents, monsters, items); rows of `tables["name_words"]`. P = `names_per_cell`; with P = 1 an item under somebody is not seen |
| observation `position` | [N, 2] uint8, row and column of the agents, oneself first, then agents i + 1, i + 2, ... modulo N; (0, 0), a corner of the wall, for the dead |
| observation `legal` | [5] bool, moves that do not lead into a wall; stay always |
| observation `inventory` | [N] uint8, name of the item that each agent holds, in the order of `position`; rows of `tables["name_words"]` |
| observation `document` | row of the text table: [L] tokens, at most 96; its length is the number of tokens that are not 0 |
| observation `goal` | row of the text table: [L] tokens, at most 16; likewise |
| tables | `name_words` [K, 2] int16, words of every name, padded with 0; `name_kinds` [K] uint8, 0 nothing, 1 wall, 2 agent, 3 monster, 4 item; `name_carried` [K] uint8, the name under which an inventory shows this item |
| words | ids into `vocabulary`; names, documents and goals share them, and all variants of this world have the same ids; 0 is the padding |
"""  # noqa: E501 (a table row is one line)
