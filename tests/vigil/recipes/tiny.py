"""The text of a small recipe, of its own: so tuning the shipped ones moves no line number of a test."""

from __future__ import annotations

TEXT = """\
name: tiny
version: 1
description: A recipe for tests.
metric: {name: test_accuracy, unit: percent, direction: higher, selection: last}
model:
  name: resnet_cifar
  image_shape: [32, 32, 3]
  n_classes: 10
  widths: [4, 8, 16]
  convolution: {kernel: [3, 3], padding: [[1, 1], [1, 1]], bias: false}
  shortcut: {kind: option_a, channel_padding: both_sides}
  batch_norm: {epsilon: 1.0e-5, momentum: 0.1, running_variance: unbiased, across_devices: sync}
  init:
    convolution.kernel: {distribution: normal, mean: 0.0, variance: 2.0, per: fan_in}
    head.kernel: {distribution: normal, mean: 0.0, variance: 2.0, per: fan_in}
    head.bias: {distribution: constant, value: 0.0}
    batch_norm.scale: {distribution: constant, value: 1.0}
    batch_norm.bias: {distribution: constant, value: 0.0}
loss: {name: softmax_cross_entropy, reduction: mean, label_smoothing: 0.0}
input:
  normalisation: {mean: per_pixel, deviation: per_channel}
  augmentation: {padding: 4, padding_value: mean, crop: 32, flip_probability: 0.5}
  shuffle: every_epoch
  last_batch: drop
optimizer:
  name: sgd
  momentum: 0.9
  dampening: 0.0
  nesterov: false
  learning_rate_in_momentum: false
  weight_decay_form: coupled
  weight_decay_on: all
targets:
  - metric: test_accuracy
    value: 91.25
    published_as: 8.75 % test error
    source: A paper
    link: https://example.org/paper
    selection: last
    protocol: As here.
    profile: paper
profiles:
  quick:
    description: A verdict.
    depth: 8
    data: {name: generated, n_train: 200, n_test: 100}
    batch_size: 50
    evaluation_batch_size: 25
    steps: 40
    learning_rate: {kind: piecewise, boundaries: [20, 30], values: [0.1, 0.01, 0.001]}
    weight_decay: 1.0e-3
    evaluate_every_steps: 10
    checkpoint_every_steps: 10
  paper:
    description: As published.
    depth: 20
    data: {name: cifar10, n_train: 50000, n_test: 10000}
    batch_size: 128
    evaluation_batch_size: 1000
    steps: 64000
    learning_rate: {kind: piecewise, boundaries: [], values: [0.1]}
    weight_decay: 0
    evaluate_every_steps: 390
    checkpoint_every_steps: 390
"""
