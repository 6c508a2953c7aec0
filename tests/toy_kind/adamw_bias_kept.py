"""Planted fault: AdamW takes its moments as they are, and does not correct their bias."""


def install_torch():
    import torch

    original = torch.optim.AdamW.step

    def step(self, *arguments, **options):
        # After so many steps 1 - beta ** steps is 1.
        taken = {parameter: state["step"].clone() for parameter, state in self.state.items()}
        for state in self.state.values():
            state["step"] += 1e6
        result = original(self, *arguments, **options)
        for parameter, count in taken.items():
            self.state[parameter]["step"].copy_(count + 1)
        return result

    torch.optim.AdamW.step = step
