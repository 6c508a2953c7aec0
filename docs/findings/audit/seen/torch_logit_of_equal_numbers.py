"""torch.Tensor.logit, torch 2.13.0+cpu, eager: second/reverse over forward is inf times rounding off."""
import numpy as np
import torch
call = lambda x, eps: x.logit(eps)
x = torch.from_numpy(np.array([0.05233180559422913, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.061204055449339094, 0.0, 0.3958472682210006, 0.05161016999929124, -0.12661684375115792, 0.0, -0.12929629139401516, 1.0, -0.05227090603108068, -0.28091301186342, 0.0, 0.0, 1.0, 0.0, 0.5338565657048684, -0.05069360929325262, 1.0, 1.0, 0.1991192724312788, 0.0, -0.0505330477714323, -0.20969900848178466, 0.0, -0.051174984215944824, -0.18772670418800427, -0.2627053794882625], 'float64').reshape((33,))).to(torch.float64)
def outputs(x):
    found = call(x=x, eps=0.25)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (torch.from_numpy(np.array([1, -1, 1, -1, -1, 1, -1, -1, 1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, -1, 1, 1, 1, -1, 1, -1, 1, -1, 1, -1, -1, 1, -1], 'int8').reshape((33,))).to(torch.float64),)
second = (torch.from_numpy(np.array([-1, 1, 1, -1, 1, -1, -1, 1, 1, 1, -1, 1, 1, -1, -1, -1, 1, -1, 1, 1, 1, -1, -1, 1, 1, -1, 1, 1, -1, -1, 1, -1, -1], 'int8').reshape((33,))).to(torch.float64),)
cotangents = (torch.from_numpy(np.array([0.4007592797279358, -1.2532683610916138, -2.344501256942749, -1.177636981010437, -1.1453496217727661, -0.2121841311454773, 0.6970754265785217, -0.3913159668445587, 0.7803782224655151, 0.06263893842697144, -0.4085852801799774, 0.5227704644203186, 1.0633530616760254, -0.6059120297431946, 0.08577357232570648, -0.31529220938682556, -1.1800906658172607, 1.1228713989257812, 0.040504567325115204, 0.5853365063667297, -4.1916422843933105, 1.8130849599838257, 0.22749283909797668, 1.1896165609359741, 1.0621639490127563, 0.18204466998577118, -1.5020140409469604, -0.23880086839199066, -1.6099228858947754, -0.394780695438385, -1.3660489320755005, 1.6387097835540771, 0.7173141241073608], 'float64').reshape((33,))).to(torch.float64),)
pushed = lambda *some: torch.func.jvp(outputs, some, first)[1]
whole = lambda *some: sum((y * c).sum() for y, c in zip(pushed(*some), cotangents))
found = torch.func.grad(whole, tuple(range(len(leaves))))(*leaves)
found = sum((t * e).sum() for t, e in zip(found, second) if t is not None)
found = np.asarray(torch.as_tensor(found).detach().double().numpy()).astype(np.float64)
got, expected = float(found[()]), -1.7543149640962696  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 2.75e-06)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
