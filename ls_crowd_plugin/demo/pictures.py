"""Draws small pictures of shapes, so that the demo has images without a copyright."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

SHAPES = ["circles", "squares", "triangles"]
WIDTH, HEIGHT, SIZE = 320, 200, 16
_COLOURS = ((31, 95, 191), (28, 122, 69), (179, 38, 30), (138, 90, 0), (110, 60, 160))
_PLACES = [(x, y) for x in range(24, WIDTH - 23, 39) for y in range(24, HEIGHT - 23, 38)]


def picture(generator: np.random.Generator, most_frequent: int) -> str:
    """Return a PNG as a data URL, with several of each shape and with SHAPES[most_frequent] the most frequent."""
    counts = generator.integers(3, 8, len(SHAPES))
    counts[most_frequent] = counts.max() + generator.integers(2, 5)
    shapes = generator.permutation(np.repeat(np.arange(len(SHAPES)), counts))
    places = generator.choice(len(_PLACES), len(shapes), replace=False)
    pixels = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    for shape, place in zip(shapes.tolist(), places.tolist(), strict=True):
        x, y = _PLACES[place]
        colour = _COLOURS[int(generator.integers(len(_COLOURS)))]
        square = pixels[y - SIZE : y + SIZE + 1, x - SIZE : x + SIZE + 1]
        square[_mask(shape, int(generator.integers(9, SIZE)))] = colour
    return "data:image/png;base64," + base64.b64encode(_png(pixels)).decode()


def _mask(shape: int, radius: int) -> npt.NDArray[np.bool_]:
    """Return where the shape is [33, 33]."""
    y, x = np.mgrid[-SIZE : SIZE + 1, -SIZE : SIZE + 1]
    if shape == 0:
        return np.asarray(x * x + y * y <= radius * radius)
    if shape == 1:
        return np.asarray(np.maximum(abs(x), abs(y)) <= radius * 0.85)
    return np.asarray((abs(y) <= radius) & (2 * abs(x) <= y + radius))


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )
