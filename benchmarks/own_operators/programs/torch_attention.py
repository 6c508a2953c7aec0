"""Causal attention: keys block by block with a running maximum (Milakov and Gimelshein 2018, arXiv:1805.02867)."""

import math

import torch

BLOCK = 16
TILES = {"length": BLOCK}


def inputs(seed, length=40, width=16):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(2, length, width, generator=generator) for name in ("query", "key", "value")}


def reference(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    length = query.shape[1]
    return scores.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(), -math.inf).softmax(-1) @ value


def candidate(query, key, value):
    length, width = query.shape[1:]
    query = query.float() / math.sqrt(width)
    largest = torch.full((*query.shape[:2], 1), -math.inf)
    total, weighted = torch.zeros_like(largest), torch.zeros_like(query)
    rows = torch.arange(length)[:, None]
    for start in range(0, length, BLOCK):
        stop = min(start + BLOCK, length)
        scores = query @ key[:, start:stop].float().transpose(1, 2)
        scores = scores.masked_fill(rows < torch.arange(start, stop), -math.inf)
        now = torch.maximum(largest, scores.amax(-1, keepdim=True)).detach()
        old, new = torch.exp(largest - now), torch.exp(scores - now)
        total, weighted = total * old + new.sum(-1, keepdim=True), weighted * old + new @ value[:, start:stop].float()
        largest = now
    return (weighted / total).to(value.dtype)
