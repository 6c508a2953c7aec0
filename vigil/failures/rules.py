"""From an exception to its category: by its type where that says it, else by what its message says.

A type that says it is evidence: `KeyError` is no path that is gone, whatever its key reads like. Types that are raised for
anything (`RuntimeError`, `ValueError`, `OSError`) are told by rules on their message, the first that fits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vigil.documents.failure import Basis
from vigil.failures.tracebacks import Raised

_MOST_READ = 4000
# Whatever their messages say.
_TYPES = {
    "FileNotFoundError": "path_not_found",
    "NotADirectoryError": "path_not_found",
    "IsADirectoryError": "path_not_found",
    "ModuleNotFoundError": "library_not_found",
    "PackageNotFoundError": "library_not_found",
    "PermissionError": "permission_denied",
    "KeyError": "key_not_found",
    "IndexError": "illegal_index",
    "NameError": "undefined_variable",
    "UnboundLocalError": "undefined_variable",
    "ZeroDivisionError": "division_by_zero",
    "NotImplementedError": "not_implemented",
    "ImportError": "library_not_found",
    "UnusableData": "corrupt_data",
    "SyntaxError": "syntax_error",
    "IndentationError": "syntax_error",
    "TabError": "syntax_error",
    "UnicodeDecodeError": "unexpected_encoding",
    "UnicodeEncodeError": "unexpected_encoding",
    "UnicodeError": "unexpected_encoding",
    "BadZipFile": "corrupt_data",
    "BadGzipFile": "corrupt_data",
    "JSONDecodeError": "corrupt_data",
    "UnpicklingError": "corrupt_data",
    "UnidentifiedImageError": "corrupt_data",
    "ParserError": "corrupt_data",
    "ScannerError": "corrupt_data",
    "ConstructorError": "corrupt_data",
    "ComposerError": "corrupt_data",
    "ParseError": "corrupt_data",
    "EmptyDataError": "corrupt_data",
    "ReadError": "corrupt_data",
    "LZMAError": "corrupt_data",
    "ExtraData": "corrupt_data",
    "EOFError": "corrupt_data",
    "DataLossError": "corrupt_data",
    "OutOfMemoryError": "out_of_memory",
    "NanLoss": "loss_nan",
    "NanDetections": "loss_nan",
    "ConnectionError": "network_unreachable",
    "ConnectionRefusedError": "network_unreachable",
    "ConnectionResetError": "network_unreachable",
    "BrokenPipeError": "network_unreachable",
    "gaierror": "network_unreachable",
    "URLError": "network_unreachable",
    "UnavailableError": "network_unreachable",
    "DeadlineExceededError": "network_unreachable",
    "PermissionDeniedError": "permission_denied",
    "UnimplementedError": "not_implemented",
    "UnsupportedOperatorError": "not_implemented",
    "NotSupportedError": "not_implemented",
    "OperatorNotAllowedInGraphError": "framework_api_misuse",
    "InaccessibleTensorError": "framework_api_misuse",
    "ConcretizationTypeError": "framework_api_misuse",
    "TracerArrayConversionError": "framework_api_misuse",
    "TracerBoolConversionError": "framework_api_misuse",
    "TracerIntegerConversionError": "framework_api_misuse",
    "NonConcreteBooleanIndexError": "framework_api_misuse",
    "UnexpectedTracerError": "framework_api_misuse",
    "KeyReuseError": "framework_api_misuse",
    "ScopeParamShapeError": "tensor_mismatch",
    "IndivisibleError": "tensor_mismatch",
    "ScopeParamNotFoundError": "key_not_found",
    "DistNetworkError": "network_unreachable",
    "ConnectTimeout": "network_unreachable",
    "ReadTimeout": "network_unreachable",
    "BrokenProcessPool": "killed",
    "KeyboardInterrupt": "killed",
}
# errno(3), as Linux has them.
_ERRNO = {
    **dict.fromkeys((2, 20, 21), "path_not_found"),
    **dict.fromkeys((1, 13, 30), "permission_denied"),
    **dict.fromkeys((27, 28, 122), "disk_full"),
    12: "out_of_memory",
    **dict.fromkeys((-2, -3, 32, 101, 104, 110, 111, 113), "network_unreachable"),
}
_SYSTEM = (
    ("library_not_found", r"\bpip install|requires [\w.-]+ to (?:function|be installed)|[Pp]lease install"),
    ("library_not_found", r"cannot open shared object file|undefined symbol|version `\S+' not found|Could not load this library"),
    ("permission_denied", r"Permission denied|Read-only file system|Operation not permitted"),
    (
        "disk_full",
        r"No space left on device|File too large|Disk quota exceeded|^\d+ requested and \d+ written|unexpected pos \d+ vs \d+",
    ),
    ("out_of_memory", r"[Cc]an(?:no|')t allocate memory|[Oo]ut of memory|bad_alloc|out of shared memory|OOM when"),
    ("out_of_memory", r"^RESOURCE_EXHAUSTED"),
    ("path_not_found", r"No such file or directory|(?i:file not found)|Failed to find any matching files"),
    (
        "path_not_found",
        r"(?i)\b(?:file(?:name)?|directory|folder|path|checkpoint)s?\b.*\b(?:do(?:es)?(?: not|n't) exist|not (?:be )?found)",
    ),
    ("corrupt_data", r"^DATA_LOSS: "),
    ("permission_denied", r"^PERMISSION_DENIED: "),
    ("network_unreachable", r"^(?:UNAVAILABLE|DEADLINE_EXCEEDED): "),
    ("not_implemented", r"^UNIMPLEMENTED: "),
    ("network_unreachable", r"Connection refused|Connection reset|timed out after .* connect|Name or service not known"),
    ("network_unreachable", r"Max retries exceeded|failed to connect|Temporary failure in name resolution"),
)
_NOT_FINITE = r"\b(?:nan|NaN|inf|infinite|non-finite)\b"
_DEVICE = (
    r"not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver|invalid device ordinal"
    r"|driver version is insufficient|[Nn]o GPUs? (?:is|are|was|were)|satisfy device specification|^Unknown backend"
    r"|Unable to initialize backend|^Number of devices \d+ must be|CUDA device but torch.cuda.is_available\(\) is False"
)
_SHAPES = (
    r"shapes? .*(?:mismatch|cannot be multiplied|not aligned|incompatible)|could not be broadcast|cannot reshape array"
    r"|must match exactly|size mismatch|mismatch in its core dimension|The size of tensor a|is invalid for input of size"
    r"|expected input\[.*\] to have|stack expects each tensor to be equal size|to match target batch_size"
    r"|[Ss]izes of tensors must match"
    r"|[Ii]ncompatible shapes|size-incompatible|Dimensions must be equal|is incompatible with the layer|to have the same shape"
    r"|shape of the target variable|must have equal types|equal dtypes|was expected to be an? \w+ tensor but is an?"
    r"|same dtype|\btypes?\b.* (?:should|must) be the same|has type \S+ that does not match|must have (?:the )?same batch"
    r"|expected scalar type|Expected all tensors to be on the same device|expected m1 and m2"
)
_MISUSE = (
    r"does not require grad|backward through the graph a second time|grad can be implicitly created only for scalar"
    r"|leaf Variable that requires grad is being used in an in-place|modified by an inplace operation"
    r"|Can't call numpy\(\) on Tensor that requires grad|Default process group has not been initialized"
    r"|[Yy]ou must call|compute one set of gradients|singleton tf.Variables|tried to create variables on non-first call"
    r"|KerasTensor cannot be used|'SymbolicTensor' object|immutable and do not support in-place|only defined for scalar-output"
    r"|Non-hashable static|Array has been deleted|Tracer\b"
    r"|not (?:yet )?been (?:built|compiled|initialized)|before (?:calling|using) |isn't yet built|executing eagerly"
    r"|not compatible with input tensor's size and stride|[Dd]ata-dependent|on unbound modules|is out of scope"
    r"|Inference tensors cannot be saved for backward|Inplace update to inference tensor|is not settable"
    # Calls in another order than the framework's, or more often.
    r"|(?:must|should|can(?:not|'t)?|may) (?:not |only )?be (?:called|used|invoked)"
    r" (?:before|after|in(?:side)?|outside|within|under|for|when)\b|[Pp]lease call"
    r"|already (?:been )?(?:initiali[sz]ed|built|compiled|consumed|freed|closed|started|entered)|more than once"
)
# A quantity of tensors, and that it is not as it should be, in one line and in either order.
_QUANTITY = r"\b(?:shapes?|sizes?|dimensions?|dims?|ndim|rank|dtypes?|types)\b"
_DIFFERS = (
    r"\b(?:match(?:es|ing)?|mismatch|equal|differ|different|same|incompatible|not compatible|inconsistent|unequal"
    r"|expect(?:s|ed)|requested|but (?:got|it has|is|was)|consistent)\b"
)
_ARGUMENTS = (
    r"unexpected keyword argument|missing \d+ required|takes \d+ positional argument|takes from \d+ to \d+ positional"
    r"|(?:takes|expected) (?:at (?:most|least)|exactly|no) (?:\d+ )?(?:positional )?arguments?"
)
# In their order, for exceptions of any type that says nothing by itself.
_MESSAGES = (
    *_SYSTEM,
    ("device_unavailable", _DEVICE + r"|torch\._C' has no attribute '_cuda"),
    ("hang", r"DataLoader timed out|Watchdog caught collective operation timeout"),
    ("killed", r"is killed by signal|terminated by signal|was terminated abruptly|exited unexpectedly"),
    ("framework_api_misuse", _MISUSE),
    ("type_mismatch", r"with mixed types|expected to be a string tensor"),
    ("tensor_mismatch", _SHAPES),
    ("division_by_zero", r"^ZeroDivisionError|[Dd]ivision by zero|divide by zero"),
    (
        "illegal_index",
        r"(?i)\b(?:ind(?:ex|ices)|axis|label|target|token|class)\b.*(?:out of (?:bounds|range)|outside|is not in \[)",
    ),
    ("illegal_index", r"[Cc]lass values must be|Invalid reduction dimension|Assertion `srcIndex < srcSelectDimSize"),
    ("key_not_found", r"^Missing (?:data|keys?|values?) for "),
    ("key_not_found", r"(?i)\b(?:feature|column|entry|variable)s?\b.*(?:not (?:be )?found|is missing|not present)"),
    ("key_not_found", r"(?i)\bkeys?(?:\(s\))?\W.*(?:not match|not present|not found)|(?:Missing|Unexpected) key\(s\) in"),
    ("not_implemented", r"not implemented for|does not support (?!item)|only supports|not yet implemented"),
    ("not_implemented", r"not supported (?:on|for)|\b[Oo]nly \w+(?: \w+)? is supported"),
    ("unexpected_encoding", r"[Ii]nvalid formatting on input string"),
    ("corrupt_data", r"\[Op:(?:Parse|Decode)|Invalid PNG|Invalid JPEG|Unknown image file format"),
    ("corrupt_data", r"Expect \d+ fields|incomplete input|[Cc]ould not parse"),
    ("corrupt_data", r"PytorchStreamReader failed|[Tt]runcated\b|[Cc]orrupt|Failed to read all data|incorrect header check"),
    ("corrupt_data", r"could not convert string .* at row|Error tokenizing data|cannot identify image file"),
    ("path_not_found", r"\b[Nn]o (?:\w+ )*(?:files?|checkpoints?|images?) (?:(?:were |was )?found|match)"),
    ("type_mismatch", r"(?:must|should|to) be (?:an? )?(?:[\w.`]+ )*instance\b|[Oo]nly instances of|must be iterable"),
    ("type_mismatch", r"[Uu]n(?:recognized|supported|known) (?:data |object )?type|\(of type <class|[Ii]nvalid type"),
    ("type_mismatch", r"(?:should|must) be (?:an? )?(?:float|int|integer|bool|str|string|callable)\b"),
)  # fmt: skip
_COMPILED = tuple((category, re.compile(pattern, re.MULTILINE)) for category, pattern in _MESSAGES)
_NOT_FINITE_LOSS = re.compile(
    r"(?i)\b(?:loss|norm|gradients?)\b.*"
    + _NOT_FINITE
    + r"|returned nan values|\bnan\b.*generated|had (?:nan|-?inf)|Detected Infinity or NaN"
)
_UNLIKE = re.compile(
    rf"(?i){_QUANTITY}.*{_DIFFERS}|{_DIFFERS}.*{_QUANTITY}|(?:must be|expected) an? (?:scalar|vector|matrix)\b"
    r"|must be (?:an? )?\d-?D(?:imensional)?\b|at least \d dimensions|\b\d-?D\b.*\b(?:input|tensor)"
    r"|(?:received|got|found|given)\b.*\bshapes?\b|size .* must be unchanged|must be broadcastable|structure error"
    r"|greater than actual input size"
)
# As TensorFlow's assertions end, which are no assertions of Python's.
_ASSERTED = re.compile(r"Condition x .* did not hold|assertion failed")
_NONE = re.compile(r"'?NoneType'?")
# What reads data: a value that it cannot use is the data's fault.
_READERS = re.compile(
    r"/(?:numpy/lib/_?(?:npyio|format)|zipfile|gzip|pickle|json/decoder|csv|PIL/|h5py/|pandas/io/|tarfile|msgpack"
    r"|torch/_weights_only_unpickler)"
)


_HINTS = {
    **dict.fromkeys(("ValueError", "OverflowError", "ArgumentError", "InvalidArgumentError"), "illegal_argument"),
    "NotFoundError": "path_not_found",
    "FailedPreconditionError": "framework_api_misuse",
    "ResourceExhaustedError": "out_of_memory",  # TensorFlow's word for a full disk, too
}

# Where frameworks have exceptions of their own for wrong use of them.
_OWN = ("flax.errors.", "jax.errors.", "torch._dynamo.exc.", "torch.fx.experimental.")
_FRAMEWORKS = re.compile(r"/site-packages/(?:torch|tensorflow|keras|jax|flax|optax)/")
# Of a RuntimeError that a framework raises, in their order.
_OF_THEIRS = (
    ("not_implemented", re.compile(r"(?i)\b(?:not|un)(?: (?:yet|currently))? ?supported\b")),
    ("framework_api_misuse", re.compile(r"(?i)tensor|autograd|backward|\b(?:graph|module|layer|optimizer|parameters?|trace)\b")),
    ("illegal_argument", re.compile(r"(?i)\b(?:(?:must|should) be|cannot be|invalid|expected)\b")),
)


class Found(NamedTuple):
    """The category of an exception, what decided, and in which line."""

    category: str
    basis: Basis
    line: str


def category_of(raised: Raised) -> Found | None:
    """Return the category of an exception, or None where neither type nor message says one."""
    name, message = raised.name, raised.message[:_MOST_READ]
    is_read = bool(raised.frames) and _READERS.search(raised.frames[-1].file) is not None
    if name == "KeyError" and "is not a file in the archive" in message:  # an array that NumPy's archive has not
        return Found("key_not_found", "evidence", raised.line)
    if name in ("IndexError", "KeyError") and is_read:  # of what was read, and no container of the program's
        return Found("corrupt_data", "evidence", raised.line)
    if category := _by_type(raised, name, message):
        return Found(category, "evidence", raised.line)
    if name == "AssertionError" or _ASSERTED.search(message):
        source = raised.frames[-1].source if raised.frames else ""
        return Found(_of_assertion(message, source), "rule", raised.line)
    for category, pattern in _COMPILED:
        if found := pattern.search(message):
            return Found(category, "rule", _line_at(raised, message, found.start()))
    if _NOT_FINITE_LOSS.search(message):
        return Found("loss_nan", "rule", raised.line)
    if is_read:
        return Found("corrupt_data", "rule", raised.line)
    if name == "TypeError" and re.search(_ARGUMENTS, message):
        return Found("illegal_argument", "rule", raised.line)
    if _UNLIKE.search(message):
        return Found("tensor_mismatch", "rule", raised.line)
    if name == "AttributeError":
        return Found("attribute_not_found", "evidence", raised.line)
    if name == "TypeError":
        return Found("type_mismatch", "rule", raised.line)
    return None


def _by_type(raised: Raised, name: str, message: str) -> str | None:
    if name in _TYPES:
        return _TYPES[name]
    if name.endswith("MemoryError"):
        return "out_of_memory"
    if raised.type in ("zlib.error", "struct.error"):
        return "corrupt_data"
    if (errno := re.search(r"\[Errno (-?\d+)\]", message)) and (category := _ERRNO.get(int(errno[1]))):
        return category
    if name == "FloatingPointError":
        return "division_by_zero" if "divide by zero" in message else "loss_nan"
    if name in ("TypeError", "AttributeError", "ValueError") and _NONE.search(message):
        return "null_reference"
    return None


def _line_at(raised: Raised, message: str, place: int) -> str:
    """Return the line of a message that a rule found."""
    begin, end = message.rfind("\n", 0, place) + 1, message.find("\n", place)
    line = message[begin : end if end > 0 else len(message)].strip()
    return line if begin and line else raised.line


def hint_of(raised: Raised) -> str | None:
    """Return the category that is likely of a type that is raised for much, where nothing else in its chain says one."""
    if hint := _HINTS.get(raised.name):
        return hint
    last = raised.frames[-1] if raised.frames else None
    is_theirs = last is not None and (not last.source.startswith("raise") or _FRAMEWORKS.search(last.file) is not None)
    is_own = raised.type.startswith(_OWN) and raised.name != "JaxRuntimeError"  # a status of any kind
    if is_own:
        return "framework_api_misuse"
    if raised.name == "RuntimeError" and is_theirs:
        return next((category for category, pattern in _OF_THEIRS if pattern.search(raised.message)), None)
    return None


def category_of_line(line: str) -> tuple[str, Basis] | None:
    """Return the category that a line says which is no exception's: of a shell, a command line, or native code."""
    for category, pattern in _LINES:
        if pattern.search(line[:_MOST_READ]):
            return category, "rule"
    return None


_LINES = tuple(
    (category, re.compile(pattern))
    for category, pattern in (
        ("path_not_found", r"can't open file .*\[Errno 2\]|: command not found$|: No such file or directory$"),
        ("permission_denied", r": Permission denied$"),
        ("library_not_found", r"error while loading shared libraries|symbol lookup error"),
        ("network_unreachable", r"UNAVAILABLE: |DEADLINE_EXCEEDED: |failed to connect to all addresses"),
        ("network_unreachable", r"Temporary failure in name resolution|Connection refused|Max retries exceeded|[Dd]ns error"),
        ("library_not_found", r"No matching distribution found|Could not find a version that satisfies|No solution found when"),
        ("illegal_argument", r"\b[Uu]nknown (?:command.line )?flags? in\b"),
        ("illegal_argument", r": error: (?:unrecognized arguments|argument |the following arguments are required)"),
        ("out_of_memory", r"std::bad_alloc|[Oo]ut of memory: Killed process|oom-kill|Cannot allocate memory"),
        ("disk_full", r"No space left on device"),
        ("native_crash", r"^Fatal Python error: |Segmentation fault|^Bus error|^Illegal instruction|\(core dumped\)"),
        ("killed", r"^Killed$|DUE TO TIME LIMIT|DUE TO PREEMPTION"),
    )
)


def _of_assertion(message: str, source: str) -> str:
    """Return the category of an assertion: its author's words are no system's, but for what only a framework says."""
    if re.search(_DEVICE, message):
        return "device_unavailable"
    # Most have no words: what is asserted stands in the line.
    said = message or source
    if re.search(_NOT_FINITE + r"|is_?(?:nan|inf|finite)\b", said) and re.search(r"loss|grad", said):
        return "loss_nan"
    return "illegal_argument"
