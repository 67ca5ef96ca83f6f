"""All ways in which weights can change, for tests of results that are cached while weights stay."""

import torch


def fused_adam(module):
    """Leaves `Tensor._version` as it is."""
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    for weight in weights:
        weight.grad = -torch.ones_like(weight)
    torch.optim.Adam(weights, lr=0.1, fused=True).step()


@torch.no_grad()
def foreach(module):
    torch._foreach_add_([weight for weight in module.parameters() if weight.requires_grad], 0.1)


def through_data(module):
    """Leaves `Tensor._version` as it is."""
    for weight in module.parameters():
        weight.data.add_(0.1)


def loaded(module):
    module.load_state_dict({name: value + 0.1 for name, value in module.state_dict().items()})


CHANGES = (fused_adam, foreach, through_data, loaded)
