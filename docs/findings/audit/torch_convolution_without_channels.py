"""torch.nn.functional.conv1d, 2d of images without channels: what comes out has no channels either, instead of the bias."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
bias = torch.ones(4)
of_rows = F.conv1d(torch.ones(2, 0, 5), torch.ones(4, 0, 3), bias)
of_images = F.conv2d(torch.ones(2, 0, 5, 5), torch.ones(4, 0, 3, 3), bias)
of_vectors = F.linear(torch.ones(2, 0), torch.ones(4, 0), bias)
found = [tuple(each.shape) for each in (of_rows, of_images, of_vectors)]
is_right = found == [(2, 4, 3), (2, 4, 3, 3), (2, 4)]
print("RIGHT" if is_right else "WRONG", "shapes of conv1d, conv2d and linear are", found, "expected 4 channels of each")
raise SystemExit(not is_right)
