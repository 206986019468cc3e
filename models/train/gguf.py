"""Writes GGUF files, version 3, and reads those it has written."""

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


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        out = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return out[0] if len(out) == 1 else out

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n : self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            inner, n = self.take("IQ")
            return [self.value(inner) for _ in range(n)]
        return self.take({4: "I", 5: "i", 6: "f", 7: "?"}[kind])


def read(path):
    """(metadata, tensors by name, as float32)"""
    with open(path, "rb") as f:
        r = _Reader(f.read())
    magic, tensors, keys = r.take("4sxxxxQQ")
    assert magic == b"GGUF", path
    metadata, places = {}, []
    for _ in range(keys):
        key = r.string()
        metadata[key] = r.value(r.take("I"))
    for _ in range(tensors):
        name, n = r.string(), r.take("I")
        shape = r.take(f"{n}Q")
        places.append((name, shape[::-1] if n > 1 else (shape,), *r.take("IQ")))
    start, out = r.at + -r.at % ALIGN, {}
    for name, shape, kind, offset in places:
        count = int(numpy.prod(shape))
        if kind == Q8_0:
            raw = numpy.frombuffer(r.data, numpy.uint8, count // 32 * 34, start + offset).reshape(-1, 34)
            scale = raw[:, :2].copy().view(numpy.float16).astype(numpy.float32)
            array = raw[:, 2:].view(numpy.int8) * scale
        else:
            array = numpy.frombuffer(r.data, {F32: "<f4", F16: "<f2"}[kind], count, start + offset)
        out[name] = array.astype(numpy.float32).reshape(shape)
    return metadata, out
