import anthropic
import ollama
import openai
import pytest

from brio_server import BINARY, BrioServer, find_model

MODEL = "smollm2-135m"


@pytest.fixture(scope="session")
def model_path():
    path = find_model(MODEL)
    if path is None:
        pytest.skip(f"{MODEL}.gguf is neither in $BRIO_MODELS nor in brio's store")
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built")
    return path


@pytest.fixture(scope="session")
def server(model_path):
    """One server for all tests that leave it as it was."""
    server = BrioServer(model_path, "--ctx", 1024, "--served-model-name", MODEL, "--served-model-name", "claude-*")
    server.wait_ready()
    yield server
    server.terminate()
    try:
        assert server.wait() == 0
    finally:
        server.kill()


@pytest.fixture
def start_server(model_path):
    """Servers of a test's own: start_server("--flag", value, ...)."""
    servers = []

    def start(*flags):
        servers.append(BrioServer(model_path, *flags))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=600)


@pytest.fixture
def anthropic_client(server):
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=600)


@pytest.fixture
def ollama_client(server):
    return ollama.Client(host=server.url)
