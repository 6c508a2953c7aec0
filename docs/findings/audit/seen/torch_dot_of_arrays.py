"""keras.ops.dot, torch 2.13.0+cpu, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from keras.ops import dot as function
import numpy as np
import torch
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = torch.from_numpy(np.array([-0.44686463475227356, -0.6918647289276123, 1.0777934789657593, -0.8542051315307617, -0.3261449635028839, -0.5967491269111633, -0.6522109508514404, 1.200526475906372, -0.4387763738632202, 0.36415934562683105, -2.8193776607513428, -1.4793614149093628], 'float32').reshape((2, 2, 3))).to(torch.float32)
y = torch.from_numpy(np.array([0.051075197756290436, -1.4539543390274048, 1.574930191040039, 0.01990540698170662, 1.13468337059021, -1.5814896821975708, -1.2624790668487549, -0.7964771389961243, -0.24389350414276123, -0.39048540592193604, 0.21079348027706146, -1.83571457862854, -1.0088709592819214, 0.7096458673477173, 0.04414059966802597, -0.9924795627593994, 1.053256630897522, -0.8487268686294556, 1.2513123750686646, 0.256380558013916, 1.0482333898544312, -0.5682160258293152, -0.8224330544471741, -0.6352242231369019, -1.2940155267715454, 0.8929451107978821, -0.3543199300765991, -0.2818756103515625, 0.7915462851524353, -0.4625172019004822], 'float32').reshape((2, 3, 5))).to(torch.float32)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
is_right = bool(found.shape == (2, 2, 2, 5))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (2, 2, 2, 5))
raise SystemExit(not is_right)
