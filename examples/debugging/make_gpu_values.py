"""Writes gpu_values.json: what a GPU recorded for layer_norm.hlo, computed by NumPy with the bug of its kernel, which
divides the sum of squares by n - 1."""

import json

import numpy as np

x = np.array([[1, 2, 3, 4], [2, 4, 8, 16]], np.float32)
mean = x.mean(1)
centred = x - mean[:, None]
variance = (centred**2).sum(1) / np.float32(3)
values = {"mean": mean, "centred": centred, "variance": variance, "y": centred / np.sqrt(variance)[:, None]}
with open("gpu_values.json", "w") as file:
    json.dump({name: value.astype(np.float64).round(7).tolist() for name, value in values.items()}, file, indent=1)
    file.write("\n")
