"""Steps of a runner's optimizer on given gradients, in float64: python -m tests.runners.ask_optimizers FRAMEWORK QUESTION ANSWER.

QUESTION holds params/<name>, gradients/<step>/<name>, rates, rules as JSON, and in `plant` whether to make a defect. ANSWER gets
what each step leaves, <rule>/<step>/<canonical name>; an optimizer takes the first half, another goes on from its state.
"""

from __future__ import annotations

import json
import sys

import numpy as np


def other_rule(rule):
    """Return another rule: with momentum Nesterov's for SGD's or the other way round, without it one that decays nothing."""
    if clipping := rule.get("clipping"):
        return {**rule, "clipping": {**clipping, "threshold": 1.1 * clipping["threshold"]}}
    if rule.get("momentum"):
        return {**rule, "nesterov": not rule["nesterov"]}
    return {**rule, "weight_decay": 0.0} if rule["name"] == "sgd" else rule


def drive_torch(rule, params, gradients, rates, plant, load):
    import torch

    from runners.torch.optimizers import OPTIMIZERS

    if plant:  # the decay of torch.optim.Adam is coupled, SGD's rule is another
        torch.optim.AdamW = torch.optim.Adam
        rule = other_rule(rule)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    parameters = [torch.nn.Parameter(torch.from_numpy(array.copy())) for array in params]
    optimizer = OPTIMIZERS[rule["name"]](rule, parameters)
    if load:
        optimizer.set_slots({slot: [torch.from_numpy(array) for array in arrays] for slot, arrays in load[0].items()})
        optimizer.set_steps(load[1])
    for step, rate in enumerate(rates):
        for parameter, gradient in zip(parameters, gradients[step], strict=True):
            parameter.grad = torch.from_numpy(gradient.copy())  # which clipping changes in place
        optimizer.use_rate(float(rate))
        optimizer.clip(scaler)
        optimizer.native.step()
        slots = {slot: [array.numpy().copy() for array in arrays] for slot, arrays in optimizer.get_slots().items()}
        yield [parameter.detach().numpy().copy() for parameter in parameters], slots, optimizer.get_steps()


def drive_tensorflow(rule, params, gradients, rates, plant, load):
    import tensorflow as tf
    from tensorflow import keras

    from runners.tensorflow import optimizers

    keras.config.set_floatx("float64")
    if plant:  # Keras's own place of epsilon; SGD's rule is another
        optimizers._CorrectedAdamW = keras.optimizers.AdamW
        rule = other_rule(rule)
    variables = [keras.Variable(array, dtype="float64") for array in params]
    optimizer = optimizers.OPTIMIZERS[rule["name"]](rule, variables)
    optimizer.native.build(variables)
    if load:
        optimizer.set_slots(load[0])
        optimizer.set_steps(load[1])

    @tf.function(autograph=False)
    def apply(step_gradients):
        with tf.GradientTape() as tape:
            inner = tf.add_n([tf.reduce_sum(v.value * g) for v, g in zip(variables, step_gradients, strict=True)])
            total = optimizer.decayed(inner, [v.regularizer(v.value) for v in variables if v.regularizer], world=1)
        optimizer.native.apply_gradients(zip(tape.gradient(total, variables), variables, strict=True))

    for step, rate in enumerate(rates):
        optimizer.use_rate(float(rate))
        apply([tf.constant(gradient) for gradient in gradients[step]])
        yield [variable.numpy() for variable in variables], optimizer.get_slots(), optimizer.get_steps()


def drive_jax(rule, params, gradients, rates, plant, load):
    import jax
    import optax

    from runners.jax.optimizers import OPTIMIZERS

    jax.config.update("jax_enable_x64", True)
    if plant:  # adam with its epsilon inside the root; SGD's rule is another
        original = optax.adamw
        optax.adamw = lambda rate, *, eps, eps_root, **rest: original(rate, eps=0.0, eps_root=eps, **rest)
        rule = other_rule(rule)
    optimizer = OPTIMIZERS[rule["name"]](rule)
    params = [jax.numpy.asarray(array) for array in params]
    state = optimizer.transformation(0.0).init(params)
    if load:
        state = optimizer.set_slots(state, {slot: [*map(jax.numpy.asarray, arrays)] for slot, arrays in load[0].items()})
        state = optimizer.set_steps(state, load[1])

    @jax.jit
    def apply(params, state, step_gradients, rate):
        shorter = optimizer.clip(step_gradients)
        updates, state = optimizer.transformation(rate).update(shorter, state, params)
        return optax.apply_updates(params, updates), state

    for step, rate in enumerate(rates):
        params, state = apply(params, state, gradients[step], rate)
        slots = {slot: [np.asarray(array) for array in arrays] for slot, arrays in optimizer.get_slots(state).items()}
        yield [np.asarray(array) for array in params], slots, optimizer.get_steps(state)


def main(framework: str, question: str, answer: str) -> None:
    drive = {"torch": drive_torch, "tensorflow": drive_tensorflow, "jax": drive_jax}[framework]
    with np.load(question) as asked:
        names = sorted(name.removeprefix("params/") for name in asked.files if name.startswith("params/"))
        params, rates, plant = [asked[f"params/{name}"] for name in names], asked["rates"], bool(asked["plant"])
        gradients = [[asked[f"gradients/{step}/{name}"] for name in names] for step in range(len(rates))]
        rules = json.loads(str(asked["rules"]))
    found, half = {}, len(rates) // 2
    for label, rule in rules.items():
        taken = list(drive(rule, params, gradients, rates[:half], plant, None))
        values, slots, count = taken[-1]
        taken += drive(rule, values, gradients[half:], rates[half:], plant, (slots, count))
        for step, (values, slots, count) in enumerate(taken):
            for group, arrays in {"params": values, **slots}.items():
                found |= {f"{label}/{step}/{group}/{name}": array for name, array in zip(names, arrays, strict=True)}
            if count is not None:
                found[f"{label}/{step}/optimizer/steps"] = np.array(int(count))
    np.savez(answer, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
