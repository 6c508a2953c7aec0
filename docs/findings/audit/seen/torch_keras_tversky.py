"""keras.losses.tversky, torch 2.13.0+cpu, eager: outputs/0 is 5.56e+06 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch
call = lambda x, y, **rest: keras.losses.tversky(y, x, **rest)
x = torch.from_numpy(np.array([0.4920998513698578, 0.5518331527709961, 0.8372921347618103, 0.8146612644195557, 0.7470082640647888, 0.869880199432373, 0.2996698319911957, 0.6009067893028259, 0.6252809762954712, 0.8536110520362854, 0.3437242805957794, 0.550548791885376, 0.4407273828983307, 0.8708054423332214, 0.34770822525024414, 0.2851542830467224, 0.7382047176361084, 0.7241925597190857, 0.8315331935882568, 0.22106391191482544, 0.7047816514968872], 'float32').reshape((3, 7))).to(torch.float32)
y = torch.from_numpy(np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0], 'float32').reshape((3, 7))).to(torch.float32)
work = lambda: call(x=x, y=y, alpha=0.3, beta=0.8)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found.detach().double().numpy()).astype(np.float64)
got, expected = float(found[()]), float('0.49862640349365606')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.0492)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
