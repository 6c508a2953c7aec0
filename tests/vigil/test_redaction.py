"""What is hidden, and what is left alone."""

from __future__ import annotations

import json
import time

import pytest

from vigil.redaction import redact, redacted_command

SECRET = "s3cr3tV4lue9Xk2LmQ7"
FORMS = (
    f"http://anna:{SECRET}@host:5000/path",
    f"postgresql://anna:pa/ss@{SECRET}@host/db",
    f"https://{SECRET}@host/simple",
    f"mysql://host/db?user=anna&password={SECRET}&ssl=1",
    f"HF_TOKEN={SECRET}",
    f"export HF_TOKEN='{SECRET}'",
    f"HF_TOKEN: {SECRET}",
    f"WANDB_API_KEY={SECRET}",
    f"AWS_SECRET_ACCESS_KEY={SECRET}",
    f"aws_session_token = {SECRET}",
    f"MLFLOW_TRACKING_PASSWORD={SECRET}",
    f"MLFLOW_TRACKING_TOKEN={SECRET}",
    f"PGPASSWORD={SECRET} psql",
    f"DB_PASSWD={SECRET}",
    f"Authorization: Bearer {SECRET}",
    f"authorization: Basic {SECRET}==",
    f"'Authorization': 'token {SECRET}'",
    f"Proxy-Authorization: Digest {SECRET}",
    f"X-Api-Key: {SECRET}",
    f"x-auth-token: {SECRET}",
    f"Cookie: session={SECRET}; other=1",
    f"https://bucket.s3.amazonaws.com/x?X-Amz-Credential=AKIAXXXX&X-Amz-Signature={SECRET}&X-Amz-Date=2026",
    f"https://x.blob.core.windows.net/c?sv=2020&sig={SECRET}%3D&se=1",
    f"https://storage.googleapis.com/b/o?GoogleAccessId=a&Signature={SECRET}",
    f"https://host/x?access_token={SECRET}",
    f"https://host/x?api_key={SECRET}#f",
    f"--token {SECRET}",
    f"--password={SECRET}",
    f"--api-key {SECRET}",
    f"vigil x --auth-token '{SECRET}'",
    f'{{"password": "{SECRET}"}}',
    f"{{'secret': '{SECRET}', 'a': 1}}",
    f"api_key: {SECRET}",
    f'client_secret = "{SECRET}"',
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghijkl",
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
    "glpat-abcdefghijklmnopqrst",
    "pypi-AgEIcHlwaS5vcmcCJDabcdefghijklmnop",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijklmnopqrstuvwxyz",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
)
INNOCENT = (
    '"http://host/@name", "a@b"',
    "seed 0 (1/1): step 179/1200, loss 1.273",
    "tokens/s 12,345",
    "tokenizer: bytes",
    "key: value",
    "keys_not_shuffled",
    "max_tokens=128",
    "key momentum 0.99",
    "queue keys: 1024",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "recipe resnet_cifar v1 (8fb4c2a0d06a)",
    "secret",
    "the token is missing",
    "password: ",
    "Basic block 1",
    "bearer of bad news",
    "https://host/x?page=2&sort=key",
    "--seeds 3 --first-seed 7",
    "runs/20261122-053858-resnet_cifar-quick-jax-jit-fp32-x1-7c0e",
    "task-0123456789abcdefghij",
    "attention key, weight gradient",
    "PRNGKey(0) key=array([0, 1])",
    "stage1.block1.conv2.kernel",
    "KeyError: 'metric'",
    "signature mismatch: (x, y)",
    "jax.random.key(0)",
    "num_tokens: 512",
    "pad_token_id=0",
    "token_embedding.weight",
)


@pytest.mark.parametrize("text", FORMS, ids=ascii)
def test_a_secret_is_hidden_in_any_of_its_forms(text):
    """Addresses, variables, headers, options, documents and keys that say whose they are; hidden twice is hidden once."""
    hidden = redact(text)
    assert SECRET not in hidden
    assert hidden != text
    assert redact(hidden) == hidden


@pytest.mark.parametrize("text", INNOCENT, ids=ascii)
def test_what_is_no_secret_is_left_alone(text):
    """Hashes, names of tensors, directories and what a log says of tokens and keys stay."""
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://anna:s3cret@host:5000/path", "http://***@host:5000/path"),
        ("postgresql://anna:s3/cr@t@host/db", "postgresql://***@host/db"),
        ("https://s3cret@host", "https://***@host"),
        ("mysql://host/db?user=anna&password=s3cret&ssl=1", "mysql://host/db?user=anna&password=***&ssl=1"),
        ("vigil x --token abc --seeds 3", "vigil x --token *** --seeds 3"),
        ("-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----\nafter",
         "-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----\nafter"),
    ],
)  # fmt: skip
def test_what_stands_beside_a_secret_stays(text, shown):
    """Host, path, other options and what follows."""
    assert redact(text) == shown


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_document_stays_one(indent):
    """What is sent to the tracker is read again; a document within a document is one, too."""
    within = json.dumps({"password": "x y", "token": SECRET})
    document = {"forms": FORMS, "password": 'a "b', "token": 12345678, "secret": None, "within": within}
    hidden = redact(json.dumps(document, indent=indent))
    assert SECRET not in hidden
    assert json.loads(hidden)["token"] == 12345678
    assert json.loads(json.loads(hidden)["within"]) == {"password": "***", "token": "***"}


@pytest.mark.parametrize("part", ["://a:", "?a=b&", "password=", "--token ", "eyJ", "-----BEGIN PRIVATE KEY-----"])
def test_no_line_takes_minutes(part):
    """A runner's log may hold anything, such as a megabyte without a line break."""
    started = time.process_time()
    redact(part * (30_000 // len(part)))
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--extra-index", "https://me:it's@host/simple"], "--extra-index 'https://***@host/simple'"),
        (["--extra-index", 'https://me:a b"c@host/simple'], "--extra-index 'https://***@host/simple'"),
        (["--extra-index", "https://me:word@host/simple"], "--extra-index https://***@host/simple"),
        (["--token", "it's mine"], "--token ***"),
        (["--password=it's;mine"], "--password=***"),
        (["my file's.py", "--mode", "eager"], """'my file'"'"'s.py' --mode eager"""),
    ],
)
def test_a_command_line_holds_no_part_of_a_secret(words, shown) -> None:
    """A shell's quotes part a value with an apostrophe: it is hidden before it is quoted."""
    assert redacted_command(["vigil", *words]) == f"vigil {shown}"
