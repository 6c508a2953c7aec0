"""What the region pieces of every framework are asked, and which mistakes they are given on purpose."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from runners.contract.kinds import regions

MODEL = {"image_shape": [128, 128, 3], "strides": [8, 16], "anchors": {"scales": [24, 56], "ratios": [0.5, 1.0, 2.0]}}
WEIGHTS = (10.0, 10.0, 5.0, 5.0)
NOT_A_BOX = [[40, 40, 40, 60], [30, 50, 20, 10], [0, 0, 0, 0], [-50, -50, -20, -20], [300, 20, 400, 90], [-1e6, -1e6, 1e6, 1e6]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: a piece, or pieces in a row, and its arguments, float64, int64 or bool.

    Args:
        differentiated: of how many arguments, from the first on, the gradient is asked, with a cotangent of cosines.
        constants: the oracle's names of the arguments after these.
        maps: which arguments are maps [batch, height, width, channel].
        features: the type that maps are in, for PyTorch under autocast to it; where it is given the others are in float32.
        is_exact: a decision, in which one bit is too much.
    """

    function: str
    arguments: tuple[np.ndarray, ...]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    differentiated: int = 0
    constants: tuple[str, ...] = ()
    maps: tuple[int, ...] = ()
    features: str | None = None
    is_exact: bool = False

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The types that all but maps of a type of their own are asked in."""
        return ("float32", "float64") if self.features is None else ("float32",)


def cotangent(shape: tuple[int, ...]) -> np.ndarray:
    """Return a gradient that tells every element from its neighbours, of numbers that every type holds."""
    return np.rint(np.cos(np.arange(np.prod(shape, dtype=int)) * 0.7).reshape(shape) * 64) / 64


def whole_boxes(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Return boxes of whole pixels inside 128 by 128, with a width and a height of at least 6."""
    corner = generator.integers(0, 100, size=(*shape, 2))
    return np.concatenate([corner, np.minimum(corner + generator.integers(6, 80, size=(*shape, 2)), 128)], axis=-1).astype(float)


def _iou_cases() -> dict[str, Case]:
    generator = np.random.default_rng(1)
    boxes = generator.uniform(-20, 140, size=(2, 7, 4))
    boxes[:, 1:] = whole_boxes(generator, 2, 6) + generator.uniform(0, 1, size=(2, 6, 4))
    others = np.concatenate([boxes[:, :3], np.broadcast_to(NOT_A_BOX, (2, 6, 4))], axis=1)
    return {"iou": Case("box_iou", (boxes, others)), "iou of nothing": Case("box_iou", (others, others))}


def _delta_cases() -> dict[str, Case]:
    generator = np.random.default_rng(2)
    anchors = np.concatenate([regions.anchors(MODEL)[::197], NOT_A_BOX[:3]])
    boxes = whole_boxes(generator, 3, len(anchors))
    boxes[0, 2:7] = 0
    boxes[1] = 0
    deltas = generator.normal(size=boxes.shape) * 3
    deltas[0, :4, 2:] = [[100, -100], [20.6, 20.7], [20.7, 1e4], [-1e4, 50]]
    return {
        "encode": Case("encode", (boxes, anchors), {"weights": WEIGHTS}),
        "decode": Case("decode", (deltas, anchors), {"weights": WEIGHTS}),
        "decode encoded": Case("decode_encoded", (np.abs(boxes[2:]), anchors), {"weights": WEIGHTS}),
        "clip": Case("clip", (np.concatenate([boxes[0] - 40, boxes[1] + 90, NOT_A_BOX]),), {"side": 128}),
    }


def _match_cases() -> dict[str, Case]:
    generator = np.random.default_rng(3)
    # Few values, so that there are ties between rows and between columns, at the thresholds too.
    iou = generator.integers(0, 11, size=(4, 23, 5)) / 10
    iou[2, :, 3] = 0
    iou[3, :, 1] /= 4
    valid = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 0, 1, 1, 1], [0, 1, 0, 0, 0]], bool)
    found = {}
    for name, options in {
        "anchors": {"low": 0.3, "high": 0.7, "forces_best": True},
        "proposals": {"low": 0.5, "high": 0.5, "forces_best": False},
    }.items():
        found[f"match {name}"] = Case("match", (iou, valid), options, is_exact=True)
    # An even shift of a symmetric anchor: two cells overlap equally. A truth without area and one outside of every anchor.
    truth = np.stack([whole_boxes(generator, 8) for _ in range(5)])
    truth[0, :4] = [[48, 48, 64, 64], [20, 12, 44, 36], [40, 40, 40, 60], [0, 0, 128, 128]]
    present = np.arange(8) < np.array([4, 0, 8, 1, 5])[:, None]
    truth[~present] = 0
    options = {"low": 0.3, "high": 0.7, "forces_best": True}
    found["match of anchors"] = Case("matched", (regions.anchors(MODEL), truth, present), options, is_exact=True)
    return found


def _sample_cases() -> dict[str, Case]:
    generator = np.random.default_rng(4)
    labels = generator.integers(-1, 2, size=(5, 97))
    labels[1] = np.where(np.arange(97) % 31 == 0, 1, 0)
    labels[2] = np.where(np.arange(97) < 5, 0, 1)
    labels[3] = -1
    labels[4] = 0
    order = regions.priorities(7, "test", 0, shape=(5, 97)).astype(np.int64)
    tied = generator.integers(0, 4, size=(5, 97)) / 4
    options = {"count": 29, "most_positive": 13}
    return {
        "sample": Case("sample", (labels, order), options, is_exact=True),
        "sample tied": Case("sample", (labels, tied), options, is_exact=True),
        "listed": Case("listed", (labels == 1, labels == 0), {"count": 83}, is_exact=True),
        "sample listed": Case("sampled", (labels, order), options, is_exact=True),
    }


def _order_cases() -> dict[str, Case]:
    generator = np.random.default_rng(5)
    scores = generator.integers(-3, 4, size=(3, 89)) / 4
    scores[1] = 0.5
    indices = generator.integers(0, 89, size=(3, 13))
    return {
        "top k": Case("top_k", (scores,), {"k": 13}, is_exact=True),
        "top k of zeros": Case("top_k", (np.where(np.arange(89) % 2, 0.0, -0.0) * np.ones((3, 1)),), {"k": 13}, is_exact=True),
        "top k all": Case("top_k", (scores,), {"k": 89}, is_exact=True),
        "picked scores": Case("picked", (scores, indices), is_exact=True),
        "picked maps": Case("picked", (generator.normal(size=(3, 89, 2, 5)), indices), is_exact=False),
    }


def _nms_cases() -> dict[str, Case]:
    generator = np.random.default_rng(6)
    boxes = whole_boxes(generator, 4, 53)
    scores = generator.permuted(np.tile(np.arange(53) / 53, (4, 1)), axis=1)
    scores[1] = generator.integers(0, 3, size=53)
    scores[2] = 0.25
    boxes[3, :30:5] = NOT_A_BOX
    valid = generator.uniform(size=(4, 53)) < 0.9
    # A row of boxes of which each has an intersection over union of exactly 1/2 with the next: 2/3 of either.
    row = np.arange(7)[:, None] * np.array([4.0, 0, 4, 0]) + np.array([8.0, 8, 20, 20])
    halves = np.stack([row, np.tile([8.0, 8, 20, 20], (7, 1)), row * 0])
    halves[1, 1::2, 3] = 14
    falling = np.broadcast_to(np.arange(7.0)[::-1], (3, 7))
    whole = np.ones((3, 7), bool)
    return {
        "nms": Case("nms", (boxes, scores, valid), {"threshold": 0.3, "count": 17}, is_exact=True),
        "nms exhausted": Case("nms", (boxes, scores, valid), {"threshold": 0.1, "count": 41}, is_exact=True),
        "nms at the threshold": Case("nms", (halves, falling, whole), {"threshold": 0.5, "count": 7}, is_exact=True),
        "nms of equals": Case("nms", (halves, falling * 0 + 0.5, whole), {"threshold": 0.5, "count": 5}, is_exact=True),
        "nms of padding": Case("nms", (halves, falling, ~whole), {"threshold": 0.5, "count": 3}, is_exact=True),
        "proposals": Case(
            "proposed",
            (generator.normal(size=(2, 960, 4)), generator.integers(-40, 40, size=(2, 960)) / 8, regions.anchors(MODEL)),
            {"weights": WEIGHTS, "side": 128, "k": 61, "threshold": 0.3, "count": 31},
            is_exact=True,
        ),
    }


def _pooling_cases() -> dict[str, Case]:
    generator = np.random.default_rng(7)
    # Numbers of seven bits, which every type holds.
    fine, coarse = (generator.integers(-127, 128, size=shape) / 32 for shape in ((2, 13, 11, 3), (2, 7, 5, 3)))
    inside = whole_boxes(generator, 2, 5) * [88 / 128, 104 / 128, 88 / 128, 104 / 128]
    whole = [[0, 0, 88, 104], [0, 0, 32, 32], [0, 0, 32, 31.75]]
    boxes = np.concatenate([inside, np.broadcast_to([*whole, *NOT_A_BOX], (2, 9, 4))], axis=1)
    # Samples exactly one pixel outside the outer centres: at -1 and 0, and at 10 and 11.
    border = np.array([[[-8.0, -8, 8, 8], [80, 88, 96, 112], [-8, 88, 96, 112]]] * 2)
    of_map = {"differentiated": 1, "constants": ("boxes",), "maps": (0,)}
    one = {"stride": 8, "size": 3, "samples": 2}
    two = {"strides": (8, 16), "canonical": 32.0, "size": 5, "samples": 2}
    found = {
        "align": Case("roi_align", (fine, boxes), one, **of_map),
        "align once": Case("roi_align", (fine, boxes), {"stride": 8, "size": 7, "samples": 1}, **of_map),
        "align thrice": Case("roi_align", (coarse, boxes), {"stride": 16, "size": 1, "samples": 3}, **of_map),
        "align border": Case("roi_align", (fine, border), {"stride": 8, "size": 1, "samples": 2}, **of_map),
        "level": Case("level_of", (boxes,), {"canonical": 32.0}, is_exact=True),
        "pooled": Case("pooled", (fine, coarse, boxes), two, differentiated=2, constants=("boxes",), maps=(0, 1)),
    }
    for features in ("bfloat16", "float16"):
        found[f"align {features}"] = Case("roi_align", (fine, boxes), one, features=features, **of_map)
    return found


def _loss_cases() -> dict[str, Case]:
    generator = np.random.default_rng(8)
    predicted, target = generator.normal(size=(2, 7, 4)), generator.normal(size=(2, 7, 4))
    target[0, :3] = predicted[0, :3] + np.array([0.0, 0.125, -0.125])[:, None]
    logits, classes = generator.normal(size=(2, 7, 4)) * 5, generator.integers(0, 4, size=(2, 7))
    logits[0, :3] = [[1e4, 0, -1e4, 0], [0, 0, 0, 0], [80, -80, 80, -80]]
    truths = generator.integers(0, 2, size=(2, 7, 4)).astype(float)
    return {
        "smooth l1": Case("smooth_l1", (predicted, target), {"beta": 0.125}, differentiated=1, constants=("target",)),
        "smooth l1 of one": Case("smooth_l1", (predicted, target), {"beta": 1.0}, differentiated=1, constants=("target",)),
        "sigmoid": Case("sigmoid_cross_entropy", (logits, truths), differentiated=1, constants=("targets",)),
        "sigmoid of shares": Case(
            "sigmoid_cross_entropy", (logits, truths * 0.8 + 0.1), differentiated=1, constants=("targets",)
        ),
        "softmax": Case("softmax_cross_entropy", (logits, classes), differentiated=1, constants=("labels",)),
        "softmax of rows": Case("softmax_cross_entropy", (logits[0], classes[0]), differentiated=1, constants=("labels",)),
    }


CASES = {
    **_iou_cases(),
    **_delta_cases(),
    **_match_cases(),
    **_sample_cases(),
    **_order_cases(),
    **_nms_cases(),
    **_pooling_cases(),
    **_loss_cases(),
}


def matched(pieces, anchors, truth, valid, **options):
    """Match anchors to ground truth by their intersection over union, as one program."""
    return pieces.match(pieces.box_iou(anchors, truth), valid, **options)


def sampled(pieces, labels, priorities, *, count, most_positive):
    """Sample, and list what is drawn."""
    return pieces.listed(*pieces.sample(labels, priorities, count=count, most_positive=most_positive), count=count)


def decode_encoded(pieces, boxes, anchors, *, weights):
    """There and back."""
    return pieces.decode(pieces.encode(boxes, anchors, weights), anchors, weights)


def proposed(pieces, deltas, scores, anchors, *, weights, side, k, threshold, count):
    """Turn anchors into proposals: the best ones, moved, cut off at the border, without near duplicates."""
    boxes = pieces.clip(pieces.decode(deltas, anchors, weights), side)
    best, indices = pieces.top_k(scores, k)
    return pieces.nms(pieces.picked(boxes, indices), best, best > -4, threshold=threshold, count=count)


def pooled(pieces, fine, coarse, boxes, **options):
    """Pool from two levels that are arguments of their own."""
    return pieces.pooled((fine, coarse), boxes, **options)


TOGETHER = {each.__name__: each for each in (matched, sampled, decode_encoded, proposed, pooled)}

# The mode that mistakes are planted in; op by op, JAX takes a minute.
PLANTED_IN = {"torch": "eager", "tensorflow": "eager", "jax": "jit"}
# Name -> cases that must tell, and what is written in place of what, in each framework that can make the mistake.
ALL = ("torch", "tensorflow", "jax")
DEFECTS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, str]]]] = {
    "boxes are not moved by half a pixel": (
        ("align", "align border", "pooled"),
        dict.fromkeys(ALL, ("/ stride - 0.5", "/ stride")),
    ),
    "a box at the threshold is dropped": (("nms at the threshold",), dict.fromkeys(ALL, ("> threshold", ">= threshold"))),
    "deltas have no weights": (
        ("encode",),
        dict.fromkeys(ALL, ("of_x, of_y, of_width, of_height = weights", "of_x = of_y = of_width = of_height = 1.0")),
    ),
    "boxes are decoded without weights": (("decode",), dict.fromkeys(ALL, ("(delta / weight for", "(delta for"))),
    "a side grows without bound": (
        ("decode",),
        {
            "torch": ("dwidth.clamp(max=LARGEST_LOG_SIDE)", "dwidth"),
            "tensorflow": ("tf.minimum(dwidth, LARGEST_LOG_SIDE)", "dwidth"),
            "jax": ("jnp.minimum(dwidth, LARGEST_LOG_SIDE)", "dwidth"),
        },
    ),
    "of equal ground truths the last is matched": (
        ("match anchors", "match proposals"),
        {
            "torch": (
                "best, index = iou.max(dim=2)",
                "best, index = iou.amax(dim=2), iou.shape[2] - 1 - iou.flip(2).max(dim=2)[1]",
            ),
            "tensorflow": (
                "for found in top_k(iou, 1))",
                "for found in (top_k(iou, 1)[0], iou.shape[2] - 1 - top_k(iou[..., ::-1], 1)[1]))",
            ),
            "jax": ("iou.argmax(axis=2)", "iou.shape[2] - 1 - iou[..., ::-1].argmax(axis=2)"),
        },
    ),
    "a match at the upper threshold is ignored": (
        ("match anchors", "match proposals"),
        dict.fromkeys(ALL, ("best >= high", "best > high")),
    ),
    "a match at the lower threshold is negative": (("match anchors",), dict.fromkeys(ALL, ("best < low", "best <= low"))),
    "padding is matched": (
        ("match anchors", "match proposals"),
        {
            "torch": ("iou.masked_fill(~valid[:, None, :], -1.0)", "iou"),
            "tensorflow": ("iou = tf.where(valid[:, None, :], iou, -1.0)", "pass"),
            "jax": ("iou = jnp.where(valid[:, None, :], iou, -1.0)", "pass"),
        },
    ),
    "a ground truth without area forces all": (("match anchors", "match of anchors"), dict.fromkeys(ALL, (" & (iou > 0)", ""))),
    "one best anchor is forced, not all": (
        ("match of anchors",),
        {
            "torch": ("(iou == most)", "(torch.arange(iou.shape[1])[:, None] == iou.max(dim=1, keepdim=True)[1])"),
            "tensorflow": (
                "(iou == most)",
                "(tf.range(iou.shape[1])[:, None] == tf.argmax(iou, axis=1, output_type=tf.int32)[:, None])",
            ),
            "jax": ("(iou == most)", "(jnp.arange(iou.shape[1])[:, None] == iou.argmax(axis=1, keepdims=True))"),
        },
    ),
    "negatives do not fill up": (
        ("sample", "sample tied"),
        dict.fromkeys(ALL, ("room = count -", "room = (count - most_positive) - 0 *")),
    ),
    "positives are unlimited": (("sample",), dict.fromkeys(ALL, ("< most_positive)", "< count)"))),
    "the lowest priorities are drawn": (
        ("sample", "sample listed"),
        {
            "torch": (
                "(labels != 1, -1)) < most_positive",
                "(labels != 1, -1)) >= (labels == 1).sum(dim=1, keepdim=True) - most_positive",
            ),
            "tensorflow": ("priorities, -1)) < most_positive", "97 - priorities, -1)) < most_positive"),
            "jax": ("priorities, -1)) < most_positive", "97 - priorities, -1)) < most_positive"),
        },
    ),
    "equal scores are in reverse": (
        ("top k", "proposals"),
        {
            "torch": (
                "torch.sort(scores, dim=1, descending=True, stable=True)",
                "(each.flip(1) for each in torch.sort(scores, dim=1, stable=True))",
            ),
            "tensorflow": (
                "return tf.math.top_k(tf.where(scores != 0, scores, 0), k)",
                "values, indices = tf.math.top_k(scores[:, ::-1], k)\n    return values, scores.shape[1] - 1 - indices",
            ),
            "jax": (
                "return jax.lax.top_k(jnp.where(scores != 0, scores, 0), k)",
                "values, indices = jax.lax.top_k(scores[:, ::-1], k)\n    return values, scores.shape[1] - 1 - indices",
            ),
        },
    ),
    "zeros of two signs are not equal": (("top k of zeros",), {"jax": ("jnp.where(scores != 0, scores, 0)", "scores")}),
    "a box without area stays": (("nms exhausted", "nms at the threshold"), dict.fromkeys(ALL, (" | itself", ""))),
    "one sample a bin": (
        ("align", "pooled"),
        dict.fromkeys(ALL, ("size=size, samples=samples, length", "size=size, samples=1, length")),
    ),
    "a sample one pixel outside is dropped": (("align border",), dict.fromkeys(ALL, ("(place >= -1)", "(place > -1)"))),
    "a sample outside is the border's": (
        ("align", "pooled"),
        {
            "torch": (" * is_near[..., None]", ""),
            "tensorflow": (" * tf.cast(is_near, start.dtype)[..., None]", ""),
            "jax": (" * is_near[..., None]", ""),
        },
    ),
    "weights are of the features' type": (
        ("align bfloat16", "align float16"),
        {
            "torch": ("enabled=False", "enabled=True"),
            "tensorflow": (
                'lines = tf.einsum("brih,bhwc->briwc", down, tf.cast(features, boxes.dtype))',
                'lines = tf.cast(tf.einsum("brih,bhwc->briwc", tf.cast(down, features.dtype), features), boxes.dtype)',
            ),
            "jax": ("down, features.astype(boxes.dtype)", "down.astype(features.dtype), features"),
        },
    ),
    "rows and columns are swapped": (
        ("align", "pooled"),
        dict.fromkeys(ALL, ("left, top, right, bottom =", "top, left, bottom, right =")),
    ),
    "the canonical size belongs to the finer level": (
        ("level", "pooled"),
        dict.fromkeys(ALL, (">= canonical**2", "> canonical**2")),
    ),
    "the loss is that of Huber": (
        ("smooth l1",),
        {
            "torch": (
                'F.smooth_l1_loss(predicted, target, reduction="none", beta=beta)',
                'F.huber_loss(predicted, target, reduction="none", delta=beta)',
            ),
            "tensorflow": ("distance - 0.5 * beta)", "distance - 0.5 * beta) * beta"),
            "jax": (" / beta).sum", ").sum"),
        },
    ),
}
