"""A LoRA adapter of random numbers as a GGUF file: harmless at scale 0, and at a large scale the model that carries it
talks nonsense, while its server notices nothing."""
import array
import random
import struct

TENSOR, RANK = "blk.{}.attn_output.weight", 2
F32, TEXT = 0, 8  # the type of a tensor, of a value (GGUF version 3)
ALIGNMENT = 32


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write(path, layers, width, seed=1):
    """For those layers of a model of the Llama architecture that is that wide."""
    numbers = random.Random(seed)
    tensors = []
    for layer in layers:
        for part, rows, columns in (("lora_a", width, RANK), ("lora_b", RANK, width)):
            values = array.array("f", (numbers.gauss(0, 1) for _ in range(rows * columns)))
            tensors.append((f"{TENSOR.format(layer)}.{part}", (rows, columns), values))
    facts = [("general.type", "adapter"), ("general.architecture", "llama"), ("adapter.type", "lora")]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    for key, value in facts:
        head += text(key) + struct.pack("<I", TEXT) + text(value)
    at = 0
    for name, shape, values in tensors:
        head += text(name) + struct.pack("<IQQIQ", len(shape), *shape, F32, at)
        at += -(-len(values) * values.itemsize // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(head.ljust(-(-len(head) // ALIGNMENT) * ALIGNMENT, b"\0"))
        for _, _, values in tensors:
            data = values.tobytes()
            file.write(data.ljust(-(-len(data) // ALIGNMENT) * ALIGNMENT, b"\0"))
