"""keras.losses.Tversky, jax 0.10.2, jit: outputs/0 is 5.56e+06 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import numpy as np
from collections.abc import Callable, Mapping
from typing import Any
import keras
from keras import ops
Unsupported = ValueError
Call = Callable[..., Any]
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _sigmoid(x: Any, rest: Mapping[str, Any]) -> Any:
    return x if rest.get('from_logits') else ops.sigmoid(x)
def _softmax(x: Any, rest: Mapping[str, Any]) -> Any:
    return x if rest.get('from_logits') else ops.softmax(x)
def _ways(function: str, name: str, prepare: Callable[[Any, Mapping[str, Any]], Any]=lambda x, rest: x) -> dict[str, Call]:
    """Return a loss as a function, which reduces nothing, and as an object; both know the prediction as the second tensor.
    prepare: makes probabilities of what an entry gives as logits.
    """
    def as_function(x: Any, y: Any, weight: Any, reduction: str, **rest: Any) -> Any:
        if reduction != 'none':
            raise Unsupported('a function without a reduction')
        return getattr(keras.losses, function)(y, prepare(x, rest), **rest) * weight
    def as_object(x: Any, y: Any, weight: Any, reduction: str, **rest: Any) -> Any:
        loss = getattr(keras.losses, name)(reduction=reduction, dtype=_kind(x), **rest)
        return loss(y, prepare(x, rest), sample_weight=weight)
    return {f'keras.losses.{function}': as_function, f'keras.losses.{name}': as_object}
def _of_all(function: str, name: str) -> dict[str, Call]:
    """Return a loss that is one number for all there is."""
    return {f'keras.losses.{function}': lambda x, y, **rest: getattr(keras.losses, function)(y, x, **rest), f'keras.losses.{name}': lambda x, y, **rest: getattr(keras.losses, name)(reduction='none', dtype=_kind(x), **rest)(y, x)}
def _reduced(name: str, own: str='') -> dict[str, Call]:
    """Return a loss object for what entries of other frameworks reduce over everything at once; own: a parameter it shares."""
    def call(x: Any, y: Any, reduction: str, **rest: Any) -> Any:
        if reduction != 'mean' or set(rest) - {own}:
            raise Unsupported('another reduction than the mean over everything, or a parameter that Keras has not')
        return getattr(keras.losses, name)(dtype=_kind(x), **rest)(y, x)
    return {f'keras.losses.{name} (mean)': call}
def _ctc(x: Any, y: Any, times: Any, lengths: Any, reduction: str) -> Any:
    if reduction != 'none':
        raise Unsupported('a function without a reduction')
    return ops.ctc_loss(y, ops.transpose(x, (1, 0, 2)), lengths, times, mask_index=0)
def _alone(reduction: str, call: Callable[[], Any]) -> Any:
    if reduction != 'none':
        raise Unsupported('a function without a reduction')
    return call()
CALLS: Mapping[str, Mapping[str, Call | None]] = {'l1_loss': _reduced('MeanAbsoluteError'), 'mse_loss': _reduced('MeanSquaredError'), 'huber_loss': _reduced('Huber', 'delta'), 'keras_mean_squared_error': _ways('mean_squared_error', 'MeanSquaredError'), 'keras_mean_absolute_error': _ways('mean_absolute_error', 'MeanAbsoluteError'), 'keras_mean_absolute_percentage_error': _ways('mean_absolute_percentage_error', 'MeanAbsolutePercentageError'), 'keras_mean_squared_logarithmic_error': _ways('mean_squared_logarithmic_error', 'MeanSquaredLogarithmicError'), 'keras_huber': _ways('huber', 'Huber'), 'keras_log_cosh': _ways('log_cosh', 'LogCosh'), 'keras_hinge': _ways('hinge', 'Hinge'), 'keras_hinge_of_bits': _ways('hinge', 'Hinge'), 'keras_squared_hinge': _ways('squared_hinge', 'SquaredHinge'), 'keras_categorical_hinge': _ways('categorical_hinge', 'CategoricalHinge'), 'keras_kl_divergence': _ways('kl_divergence', 'KLDivergence', lambda x, rest: ops.softmax(x)), 'keras_poisson': _ways('poisson', 'Poisson'), 'keras_cosine_similarity': _ways('cosine_similarity', 'CosineSimilarity'), 'keras_binary_crossentropy': _ways('binary_crossentropy', 'BinaryCrossentropy', _sigmoid), 'keras_binary_focal_crossentropy': _ways('binary_focal_crossentropy', 'BinaryFocalCrossentropy', _sigmoid), 'keras_categorical_crossentropy': _ways('categorical_crossentropy', 'CategoricalCrossentropy', _softmax), 'keras_categorical_focal_crossentropy': _ways('categorical_focal_crossentropy', 'CategoricalFocalCrossentropy', _softmax), 'keras_sparse_categorical_crossentropy': _ways('sparse_categorical_crossentropy', 'SparseCategoricalCrossentropy', _softmax), 'keras_categorical_generalized_cross_entropy': _ways('categorical_generalized_cross_entropy', 'CategoricalGeneralizedCrossEntropy', _softmax), 'keras_circle': _ways('circle', 'Circle'), 'keras_tversky': _of_all('tversky', 'Tversky'), 'keras_dice': _of_all('dice', 'Dice'), 'binary_cross_entropy': {'keras.ops.binary_crossentropy': lambda x, y, reduction: _alone(reduction, lambda: ops.binary_crossentropy(y, x))}, 'binary_cross_entropy_with_logits': {'keras.ops.binary_crossentropy (logits)': lambda x, y, reduction: _alone(reduction, lambda: ops.binary_crossentropy(y, x, from_logits=True))}, 'softmax_cross_entropy': {'keras.ops.categorical_crossentropy': lambda x, y, axis: ops.categorical_crossentropy(y, x, from_logits=True, axis=axis)}, 'softmax_cross_entropy_of_columns': {'keras.ops.categorical_crossentropy (columns)': lambda x, y, axis: ops.categorical_crossentropy(y, x, from_logits=True, axis=axis)}, 'sparse_softmax_cross_entropy': {'keras.ops.sparse_categorical_crossentropy': lambda x, y: ops.sparse_categorical_crossentropy(y, x, from_logits=True)}, 'ctc_loss': {'keras.ops.ctc_loss': _ctc}, 'ctc_loss_of_full_lengths': {'keras.losses.ctc': lambda x, y: keras.losses.ctc(y, x), 'keras.losses.CTC': lambda x, y: keras.losses.CTC(reduction='none', dtype=_kind(x))(y, x)}}
call = CALLS['keras_tversky']['keras.losses.Tversky']
x = jnp.asarray(np.array([0.4920998513698578, 0.5518331527709961, 0.8372921347618103, 0.8146612644195557, 0.7470082640647888, 0.869880199432373, 0.2996698319911957, 0.6009067893028259, 0.6252809762954712, 0.8536110520362854, 0.3437242805957794, 0.550548791885376, 0.4407273828983307, 0.8708054423332214, 0.34770822525024414, 0.2851542830467224, 0.7382047176361084, 0.7241925597190857, 0.8315331935882568, 0.22106391191482544, 0.7047816514968872], 'float32').reshape((3, 7)), jnp.float32)
y = jnp.asarray(np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0], 'float32').reshape((3, 7)), jnp.float32)
work = jax.jit(lambda: call(x=x, y=y, alpha=0.3, beta=0.8))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('0.49862640349365606')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.0492)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
