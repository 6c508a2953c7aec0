"""keras.ops.binary_crossentropy, torch 2.13.0+cpu, eager: outputs/0 is 64.8 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
Unsupported = ValueError
from collections.abc import Callable
from keras import ops
from typing import Any
import numpy as np
import torch
def _alone(reduction: str, call: Callable[[], Any]) -> Any:
    if reduction != 'none':
        raise Unsupported('a function without a reduction')
    return call()
call = lambda x, y, reduction: _alone(reduction, lambda: ops.binary_crossentropy(y, x, from_logits=True))
x = torch.from_numpy(np.array([0.11473602056503296, -2.131762981414795, 0.6233649849891663, 0.1686939299106598, -3.6092097759246826, 4.366030216217041, 1.2154957056045532, 4.9881486892700195, -2.3669028282165527, 9.848291397094727, -2.4378974437713623, 0.8581017255783081, -1.3032974004745483, 6.624549388885498, -8.409430503845215, -6.590662956237793, 3.506300687789917, -2.7873854637145996, -0.8324111700057983, -5.391673564910889, 0.6435280442237854], 'float32').reshape((3, 7))).to(torch.float32)
y = torch.from_numpy(np.array([0.7633324861526489, 0.8473869562149048, 0.5131353139877319, 0.37585440278053284, 0.19660361111164093, 0.15837043523788452, 0.30304673314094543, 0.8485296964645386, 0.9083730578422546, 0.4836213290691376, 0.1797114908695221, 0.6029612421989441, 0.0937235951423645, 0.7632508277893066, 0.8507280945777893, 0.02923218533396721, 0.1701694279909134, 0.8972036838531494, 0.4784418046474457, 0.025062398985028267, 0.7304951548576355], 'float32').reshape((3, 7))).to(torch.float32)
work = lambda: call(x=x, y=y, reduction='none')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[(2, 5)]), float('0.1396722793957754')  # by the definition in float64
is_right = abs(got - expected) < 2.38e-07
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
