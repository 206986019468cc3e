"""Writes GGUF files, version 3."""

import struct

import numpy

ALIGN = 32
F32, F16, Q8_0 = 0, 1, 8  # types of tensors


def _string(x):
    b = x.encode() if isinstance(x, str) else bytes(x)
    return struct.pack("<Q", len(b)) + b


def _value(x):
    """(type, bytes) of a value; whole numbers are u32."""
    if isinstance(x, bool):
        return 7, struct.pack("<?", x)
    if isinstance(x, int):
        return 4, struct.pack("<I", x)
    if isinstance(x, float):
        return 6, struct.pack("<f", x)
    if isinstance(x, str):
        return 8, _string(x)
    if isinstance(x, numpy.ndarray):  # token types
        return 9, struct.pack("<IQ", 5, len(x)) + x.astype("<i4").tobytes()
    return 9, struct.pack("<IQ", 8, len(x)) + b"".join(map(_string, x))


def q8_0(x):
    """Blocks of 32 values: a half-precision scale and 32 bytes."""
    blocks = numpy.ascontiguousarray(x, numpy.float32).reshape(-1, 32)
    scale = (numpy.abs(blocks).max(1) / 127).astype(numpy.float16)
    wide = scale.astype(numpy.float32)
    inverse = numpy.divide(1, wide, out=numpy.zeros_like(wide), where=wide > 0)
    out = numpy.empty((len(blocks), 34), numpy.uint8)
    out[:, :2] = scale.view(numpy.uint8).reshape(-1, 2)
    out[:, 2:] = numpy.clip(numpy.rint(blocks * inverse[:, None]), -127, 127).astype(numpy.int8).view(numpy.uint8)
    return out.tobytes()


ENCODE = {
    F32: lambda x: numpy.ascontiguousarray(x, numpy.float32).tobytes(),
    F16: lambda x: numpy.ascontiguousarray(x, numpy.float16).tobytes(),
    Q8_0: q8_0,
}


def write(path, metadata, tensors):
    """tensors: (name, array, type), arrays with the slowest dimension first."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _string(key) + struct.pack("<I", kind) + data
    blobs, offset = [], 0
    for name, array, kind in tensors:
        data = ENCODE[kind](array)
        head += _string(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *reversed(array.shape)) + struct.pack("<IQ", kind, offset)
        blobs.append(data + b"\0" * (-len(data) % ALIGN))
        offset += len(blobs[-1])
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGN))
        f.writelines(blobs)
