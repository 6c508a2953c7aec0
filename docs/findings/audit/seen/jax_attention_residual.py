"""jax.nn.dot_product_attention, jax 0.10.2, jit: gradients/q is 1.6e+07 times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
from typing import Any
import jax
import jax.numpy as jnp
from flax import linen, nnx
_JAX = 'jax.nn.dot_product_attention'
_LINEN, _NNX = ('flax.linen.dot_product_attention', 'flax.nnx.dot_product_attention')
def _attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, **options, implementation='xla')
def _causal(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    mask = (jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1]))[None, None]
    return linen.dot_product_attention(_scaled(q, scale), k, v, mask=mask)
def _scaled(q: Any, scale: float | None) -> Any:
    """Return queries for a function that knows no scale but its own."""
    return q if scale is None else q * jnp.asarray(scale * q.shape[-1] ** 0.5, q.dtype)
def _kernels(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a layer of two heads, under linen's names."""
    names = {'q': 'query', 'k': 'key', 'v': 'value'}
    found = {name: {'kernel': given[f'w{each}'].reshape(-1, 2, given[f'w{each}'].shape[1] // 2), 'bias': given[f'b{each}'].reshape(2, -1)} for each, name in names.items()}
    return found | {'out': {'kernel': given['wo'].reshape(2, -1, given['wo'].shape[1]), 'bias': given['bo']}}
def _linen(query: Any, value: Any, given: dict[str, Any], mask: Any=None) -> Any:
    module = linen.MultiHeadDotProductAttention(num_heads=2)
    return module.apply({'params': _kernels(given)}, query, inputs_k=value, inputs_v=value, mask=mask)
def _nnx(query: Any, value: Any, given: dict[str, Any], mask: Any=None, **options: Any) -> Any:
    module = nnx.MultiHeadAttention(2, query.shape[-1], decode=False, rngs=nnx.Rngs(0))
    for name, weights in _kernels(given).items():
        layer = getattr(module, name)
        layer.kernel.value, layer.bias.value = (weights['kernel'], weights['bias'])
    return module(query, value, mask=mask, **options)
def _causal_mask(x: Any, is_causal: bool) -> Any:
    return linen.make_causal_mask(x[..., 0]) if is_causal else None
def _self(x: Any, is_causal: bool, **given: Any) -> Any:
    module = linen.SelfAttention(num_heads=2)
    return module.apply({'params': _kernels(given)}, x, mask=_causal_mask(x, is_causal))
def _weights(q: Any, k: Any, v: Any) -> Any:
    weights = linen.dot_product_attention_weights(q, k)
    return (jnp.einsum('bhst,bthd->bshd', weights, v), weights)
def _shown(weights: Any, is_averaged: bool) -> Any:
    return weights.mean(1) if is_averaged else weights
def _sown(query: Any, value: Any, mask: Any, is_averaged: bool, **given: Any) -> Any:
    module = linen.MultiHeadDotProductAttention(num_heads=2)
    found, sown = module.apply({'params': _kernels(given)}, query, inputs_k=value, inputs_v=value, mask=mask[:, None, None], sow_weights=True, mutable=['intermediates'])
    return (found, _shown(sown['intermediates']['attention_weights'][0], is_averaged))
CALLS = {'attention': {_JAX: _attention, _LINEN: lambda q, k, v, scale: linen.dot_product_attention(_scaled(q, scale), k, v), _NNX: lambda q, k, v, scale: nnx.dot_product_attention(_scaled(q, scale), k, v)}, 'attention_other_width': {_LINEN: lambda q, k, v: linen.dot_product_attention(q, k, v)}, 'attention_masked': {_JAX: _attention, _LINEN: lambda q, k, v, mask: linen.dot_product_attention(q, k, v, mask=mask), _NNX: lambda q, k, v, mask: nnx.dot_product_attention(q, k, v, mask=mask)}, 'attention_biased': {_JAX: _attention, _LINEN: lambda q, k, v, bias: linen.dot_product_attention(q, k, v, bias=bias), _NNX: lambda q, k, v, bias: nnx.dot_product_attention(q, k, v, bias=bias)}, 'attention_biased_masked': {_JAX: _attention, _LINEN: lambda q, k, v, bias, mask: linen.dot_product_attention(q, k, v, bias=bias, mask=mask), _NNX: lambda q, k, v, bias, mask: nnx.dot_product_attention(q, k, v, bias=bias, mask=mask)}, 'attention_causal': {_JAX: lambda q, k, v, scale: _attention(q, k, v, scale=scale, is_causal=True), _LINEN: _causal, _NNX: lambda q, k, v, scale: nnx.dot_product_attention(_scaled(q, scale), k, v, is_causal=True)}, 'attention_grouped': {_JAX: _attention}, 'attention_key_lengths': {_JAX: lambda q, k, v, lengths: _attention(q, k, v, key_value_seq_lengths=lengths)}, 'attention_query_lengths': {_JAX: lambda q, k, v, lengths: _attention(q, k, v, query_seq_lengths=lengths)}, 'attention_window': {_JAX: lambda q, k, v, before, after: _attention(q, k, v, local_window_size=(before, after))}, 'attention_residual': {_JAX: lambda q, k, v: _attention(q, k, v, return_residual=True)}, 'attention_weights': {'flax.linen.dot_product_attention_weights': _weights}, 'multi_head': {'flax.linen.MultiHeadDotProductAttention': lambda query, value, mask, **given: _linen(query, value, given, mask[:, None, None]), 'flax.nnx.MultiHeadAttention': lambda query, value, mask, **given: _nnx(query, value, given, mask[:, None, None])}, 'multi_head_weights': {'flax.linen.MultiHeadDotProductAttention': _sown}, 'multi_head_self': {'flax.linen.SelfAttention': _self, 'flax.linen.MultiHeadDotProductAttention': lambda x, is_causal, **given: _linen(x, x, given, _causal_mask(x, is_causal)), 'flax.nnx.MultiHeadAttention': lambda x, is_causal, **given: _nnx(x, x, given, is_causal=is_causal)}, 'multi_head_inference': {'flax.nnx.MultiHeadAttention': lambda x, **given: _nnx(x, x, given)}}
call = CALLS['attention_residual']['jax.nn.dot_product_attention']
q = jnp.asarray(np.array([-0.3799610137939453, -0.6828084588050842, -1.387764573097229, -2.759786605834961, 0.37143251299858093, -1.7960995435714722, -0.5987892150878906, -1.094152569770813, 0.009821000508964062, -0.8115875720977783, 2.551403045654297, -1.208278775215149, -0.9043592214584351, -0.4208941161632538, -0.8048125505447388, 0.5061944723129272, 0.7942167520523071, -0.4512208104133606, 1.6063522100448608, -0.42647290229797363, 0.20569464564323425, 0.8324121832847595, -1.0245271921157837, -0.4254126250743866, 1.0800169706344604, -0.9153284430503845, 0.734064519405365, -0.40557625889778137, -0.10730800777673721, 0.8303527235984802, -0.4795057773590088, -0.012772290967404842, 0.03229684382677078, -0.5550482869148254, 0.03184257820248604, -0.44611823558807373], 'float32').reshape((2, 3, 2, 3)), jnp.float32)
k = jnp.asarray(unpack('c-jHL06+gg&{947!7o3cfN4HPLHa&7%kRB9vcf;3e#5>&nz6q)2yMQ!QXW97okl<R1UJ3r{z*R?<exvgZ7e@wYsx+-?4`fTyM#ZI9DTp#?@vF0K@z_kE1<u~xcWVLzBa$N*qc8=qM*M)a-6?NU$H*BaJ0TJikCl=Dg8cGC8oaC&7wbld>FoShju>27MDM>ipjrP$z(p^rl>tl3*x?U2QfU#@F%|hOVPfvIl{hB2^B!0MeaTAXCOas7r?%45@2W', 'float32').reshape((2, 4, 2, 3)), jnp.float32)
v = jnp.asarray(unpack('c-jHL06+g(=9|AJg$qBOsk}a+aIQZ)DbPO3M6o``<K;d9J(#{ugjK%=$2&jr6UIDisGC1de-6G!KtR9ZL3Y1>qF}$_QTRUt*h;?D=Yl^iH?ThY83;c!3gW$;`H8=g&pE%Jr13u=ShhbwDTBYhti8R=UTeRdiHtsEZ{xmM<Muu=$8J9T`qMr-ZjZmM-hMwO3>iP6-h00Hv57xqQ}n)e(PF<Y#@WBiG<Cngxcj~(T%|v5q|m-j2WP)+$a=p$)??i', 'float32').reshape((2, 4, 2, 3)), jnp.float32)
cotangents = [np.array([0.6013941764831543, 0.15922755002975464, 0.5230147838592529, 0.9294836521148682, 0.2225889265537262, -0.7525792121887207, 0.7254761457443237, -0.6853606700897217, -1.1271799802780151, 0.6517852544784546, 0.6149047017097473, -0.2760489284992218, -0.8946237564086914, 1.859714388847351, -0.02002336084842682, 0.2715384364128113, -0.27543210983276367, -0.42918887734413147, 0.22471816837787628, -0.11471894383430481, -0.2190188616514206, 0.6610167622566223, -0.4055935740470886, -0.748435914516449, 0.6550980806350708, 0.2945038974285126, 0.12370416522026062, -0.7149724960327148, 0.7921938896179199, 1.6218830347061157, 1.0703412294387817, -1.6815440654754639, 0.41253331303596497, 3.224882125854492, 0.2740496098995209, -0.8347078561782837], 'float32').reshape((2, 3, 2, 3)), np.array([0.02159525267779827, -2.163778305053711, -1.6947020292282104, 0.14392738044261932, -0.8509600758552551, 0.3862360417842865, -0.444075345993042, 0.7932180166244507, -1.2816357612609863, 0.6029672622680664, 1.6039725542068481, -0.5249089002609253], 'float32').reshape((2, 3, 2))]
work = lambda q: call(q=q, k=k, v=v)
def gradient(q):
    found, pull = jax.vjp(lambda q: [*jax.tree_util.tree_leaves(work(q))], q)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(q)).astype(np.float64)
direction = np.array([1, -1, -1, 1, -1, 1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1, -1, -1, 1, -1, 1, -1, -1, -1, -1, 1, -1, 1, 1, -1, 1, 1, -1, 1, -1, -1], 'int8').reshape((2, 3, 2, 3))
got, expected = float((found * direction).sum()), 2.1249662915923118  # by central differences of the definition in float64
is_right = abs(got - expected) < 1.07
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)
