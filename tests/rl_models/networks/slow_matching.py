"""The mention-matching reader one number at a time, as the equations in `mentions.py` and `matching.py` are written."""

import torch


class SlowMatching:
    def __init__(self, network, sentence_end):
        self.net, self.config, self.sentence_end = network, network.config, sentence_end
        words = network.mentions.words.weight
        is_unit = network.config.unit_words
        self.table = words / words.norm(dim=1, keepdim=True).clamp(min=1e-12) if is_unit else words
        self.document_table = network.mentions.document_table()

    def vector(self, words):
        return sum((self.table[w] for w in words.tolist() if w), torch.zeros(self.table.shape[1]).double())

    def match(self, vector, document):
        return [vector @ self.document_table[w] for w in document]

    def attention(self, vector, document):
        return torch.stack([self.net.mentions.sharpness * m for m in self.match(vector, document)]).softmax(0)

    def beside(self, one, other, document):
        a, m = self.attention(one, document), self.match(other, document)
        reach, found = self.config.window, []
        for offset in range(-reach, reach + 1):
            inside = [j for j in range(len(document)) if 0 <= j + offset < len(document)]
            found.append(sum((a[j] * m[j + offset] for j in inside), torch.tensor(0.0).double()))
        return found

    def same_sentence(self, one, other, document):
        sentences = [sum(w == self.sentence_end for w in document[:j]) for j in range(len(document))]
        a, m, total = self.attention(one, document), self.match(other, document), torch.tensor(0.0).double()
        for sentence in set(sentences):
            places = [j for j, s in enumerate(sentences) if s == sentence]
            total = total + sum(a[j] for j in places) * sum(m[j] for j in places)
        return total

    def around(self, vector, document):
        a, reach = self.attention(vector, document), self.config.window
        found = torch.zeros(2 * reach + 1, self.table.shape[1]).double()
        for offset in range(-reach, reach + 1):
            for j in range(len(document)):
                if 0 <= j + offset < len(document):
                    found[offset + reach] += a[j] * self.document_table[document[j + offset]]
        return found.flatten()

    def pair(self, one, other, document):
        if self.config.reads == "vector":
            return (one @ other)[None]
        same = (self.same_sentence(one, other, document) + self.same_sentence(other, one, document)) / 2
        both = [*self.beside(one, other, document), *self.beside(other, one, document)]
        return torch.stack([*both, one @ other, same])

    def nodes(self, obs, frame, goal):
        """(vector, kind, row of the place, cells beyond) of every node; the goal is the last."""
        grid, own = obs["grid"][frame], obs["position"][frame][0].tolist()
        reach, found = self.config.reach, []
        for row in range(grid.shape[0]):
            for column in range(grid.shape[1]):
                for name in grid[row, column].tolist():
                    if self.net.kinds[name]:
                        offset = torch.tensor([row - own[0], column - own[1]])
                        near = offset.clamp(-reach, reach)
                        place = int((near[0] + reach) * (2 * reach + 1) + near[1] + reach)
                        beyond = (offset - near).double()
                        found.append((self.vector(self.net.names[name]), int(self.net.kinds[name]), place, beyond))
        constant = (2 * reach + 1) ** 2
        for number, name in enumerate(obs["inventory"][frame].tolist()):
            vector, kind = self.vector(self.net.names[name]), int(self.net.kinds[name])
            found.append((vector, kind, constant + number, torch.zeros(2).double()))
        return [*found, (goal, 0, constant + len(obs["inventory"][frame]), torch.zeros(2).double())]

    def frame(self, obs, *frame):
        net = self.net
        document = [w for w in obs["texts/document"][int(obs["document"][frame])].tolist() if w]
        goal = self.vector(obs["texts/goal"][int(obs["goal"][frame])])
        nodes = self.nodes(obs, frame, goal)
        pairs = [[self.pair(n[0], m[0], document) for m in nodes] for n in nodes]
        first = []
        for index, (vector, kind, place, beyond) in enumerate(nodes):
            state = net.place[place] + beyond @ net.beyond + net.kind[kind] + net.with_goal(pairs[index][-1])
            state = state if net.name is None else state + net.name(vector)
            first.append((state if net.around is None else state + net.around(self.around(vector, document))).relu())
        total = torch.zeros(self.config.features).double()
        for n, state in enumerate(first):
            heard = torch.zeros_like(state)
            for m, other in enumerate(first):
                heard = heard + (net.to_receiver(state) + net.to_sender(other) + net.of_pair(pairs[n][m])).relu() / 2
            total = total + net.node_output(torch.cat([state, heard])).relu()
        row, column = obs["position"][frame][0].tolist()
        height, width = obs["grid"].shape[3:5]
        distances = [row - 1, column - 1, height - 2 - row, width - 2 - column]
        reach = self.config.reach
        edges = [net.edges[k * (reach + 1) + min(max(d, 0), reach)] for k, d in enumerate(distances)]
        return (net.output(total) + sum(edges)).relu()
