"""Pictures of the example: fruit and vegetables on a table, drawn by us, each a little different."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIDE = 288
_FINE = 2
"""Points are drawn finer by this factor, and then averaged."""
_TABLES = ((236, 226, 208), (222, 229, 226), (229, 221, 229), (214, 224, 233))
_GREEN, _BROWN = (74, 128, 62), (110, 78, 48)
Colour = tuple[int, int, int]
Point = tuple[float, float]


def picture(name: str, rng: np.random.Generator) -> bytes:
    """Return a picture of an apple, a pear, a carrot, a tomato, a lemon or a mushroom, as a JPEG file."""
    side = SIDE * _FINE
    table = _TABLES[int(rng.integers(len(_TABLES)))]
    scene = Image.new("RGB", (side, side), table)
    _light(scene)
    thing = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    _DRAWN[name](Pen(thing, rng))
    thing = thing.rotate(float(rng.uniform(-25, 25)), Image.Resampling.BICUBIC)
    size = int(side * rng.uniform(0.72, 0.98))
    thing = thing.resize((size, size), Image.Resampling.BILINEAR)
    at = (int(rng.uniform(0, side - size)), int(rng.uniform(0, side - size)))
    shadow = Image.new("RGBA", thing.size, (40, 30, 20, 0))
    shadow.putalpha(thing.getchannel("A").point(lambda value: int(value * 0.35)))
    shadow = shadow.filter(ImageFilter.GaussianBlur(side / 60))
    scene.paste(shadow, (at[0] + side // 40, at[1] + side // 28), shadow)
    scene.paste(thing, at, thing)
    packed = io.BytesIO()
    scene.resize((SIDE, SIDE), Image.Resampling.BOX).save(packed, "JPEG", quality=88)
    return packed.getvalue()


def _light(scene: Image.Image) -> None:
    """Let light fall on the table from the upper left."""
    y, x = np.mgrid[0 : scene.height, 0 : scene.width] / scene.height
    shade = 1.06 - 0.16 * (x + y) / 2
    lit = np.clip(np.asarray(scene, dtype=np.float32) * shade[..., None], 0, 255).astype(np.uint8)
    scene.paste(Image.fromarray(lit))


class Pen:
    """Draws on a square that reaches from -1 to 1."""

    def __init__(self, paper: Image.Image, rng: np.random.Generator) -> None:
        self.paper, self.rng, self.half = paper, rng, paper.width / 2

    def near(self, colour: Colour, spread: int = 16) -> Colour:
        """Return a colour like the one given."""
        red, green, blue = (
            int(np.clip(one + self.rng.integers(-spread, spread + 1), 0, 255)) for one in colour
        )
        return red, green, blue

    def shape(self, outline: list[Point], colour: Colour, shine: float = 0.45) -> None:
        """Fill an outline with a colour, darker at its lower right, with a spot of light."""
        points = [self._at(*point) for point in outline]
        xs, ys = [one[0] for one in points], [one[1] for one in points]
        left, top = int(min(xs)), int(min(ys))
        wide, tall = int(max(xs)) - left + 1, int(max(ys)) - top + 1
        mask = Image.new("L", (wide, tall), 0)
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in points], fill=255)
        across, down = np.arange(wide)[None, :] / wide, np.arange(tall)[:, None] / tall
        shade = np.clip(1.18 - 0.5 * (0.45 * across + 0.55 * down), 0.55, 1.2)
        spot = np.clip(shine * np.exp(-((across - 0.3) ** 2 + (down - 0.27) ** 2) / 0.02), 0, 0.8)
        body = np.asarray(colour) * shade[..., None]
        body += (255 - body) * spot[..., None]
        self.paper.paste(Image.fromarray(np.clip(body, 0, 255).astype(np.uint8)), (left, top), mask)

    def line(self, points: list[Point], colour: Colour, width: float) -> None:
        """Draw a line with round joints."""
        ImageDraw.Draw(self.paper).line(
            [self._at(*point) for point in points], fill=(*colour, 255), width=int(width * self.half),
            joint="curve",
        )  # fmt: skip

    def leaf(self, x: float, y: float, turn: float, length: float) -> None:
        """Draw a leaf that begins at a point."""
        steps = np.linspace(0, 1, 20)
        side = 0.28 * length * np.sin(math.pi * steps)
        out = [(length * one, width) for one, width in zip(steps, side, strict=True)]
        back = [(length * one, -width) for one, width in zip(steps[::-1], side[::-1], strict=True)]
        cos, sin = math.cos(turn), math.sin(turn)
        turned = [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in (*out, *back)]
        self.shape(turned, self.near(_GREEN), 0.1)

    def _at(self, x: float, y: float) -> Point:
        return self.half * (1 + x), self.half * (1 + y)


def _round(radius: Callable[[float], float], wide: float = 1.0, tall: float = 1.0) -> list[Point]:
    """Return an outline by its radius at every angle, which begins at the top."""
    angles = np.linspace(0, 2 * math.pi, 160, endpoint=False)
    return [(wide * radius(a) * math.sin(a), -tall * radius(a) * math.cos(a)) for a in angles]


def _apple(pen: Pen) -> None:
    colour = pen.near(((186, 44, 42), (150, 176, 62), (205, 88, 52))[int(pen.rng.integers(3))])
    dent, waist = pen.rng.uniform(0.10, 0.16), pen.rng.uniform(0.95, 1.08)
    outline = _round(
        lambda a: 0.62 * (1 - dent * math.exp(-(min(a, 2 * math.pi - a) ** 2) / 0.12)
                          - 0.05 * math.exp(-((a - math.pi) ** 2) / 0.05)), waist
    )  # fmt: skip
    pen.shape(outline, colour)
    pen.line([(0.0, -0.50), (0.03, -0.64), (0.09, -0.76)], _BROWN, 0.05)
    pen.leaf(0.05, -0.66, pen.rng.uniform(-0.6, -0.1), 0.34)


def _pear(pen: Pen) -> None:
    colour = pen.near(((196, 186, 70), (156, 172, 66), (208, 168, 72))[int(pen.rng.integers(3))])
    neck = pen.rng.uniform(0.30, 0.36)

    def width(down: float) -> float:
        belly = math.sqrt(max(0.0, 1 - ((down - 0.22) / 0.5) ** 2)) * 0.52
        top = math.sqrt(max(0.0, 1 - ((down + 0.38) / 0.34) ** 2)) * neck
        blend = 1 / (1 + math.exp(-(down + 0.18) * 14))
        return blend * max(belly, 0.0) + (1 - blend) * max(top, 0.0)

    levels = np.linspace(-0.72, 0.72, 90)
    right = [(width(float(one)), float(one)) for one in levels]
    pen.shape([*right, *((-x, y) for x, y in reversed(right))], colour)
    pen.line([(0.0, -0.66), (0.04, -0.78), (0.02, -0.88)], _BROWN, 0.05)


def _carrot(pen: Pen) -> None:
    for turn in np.linspace(-2.2, -0.9, 5):
        pen.leaf(0.0, -0.42, float(turn), pen.rng.uniform(0.35, 0.5))
    thick = pen.rng.uniform(0.22, 0.3)
    levels = np.linspace(-0.5, 0.85, 60)
    shape = [(thick * (1 - ((one + 0.5) / 1.35) ** 1.6) + 0.012, float(one)) for one in levels]
    pen.shape([*shape, *((-x, y) for x, y in reversed(shape))], pen.near((224, 122, 40)))
    for at in (-0.3, -0.05, 0.15, 0.4):
        wide = thick * 0.5 * pen.rng.uniform(0.5, 1)
        pen.line([(-wide, at), (wide * 0.2, at + 0.015)], (188, 96, 30), 0.012)


def _tomato(pen: Pen) -> None:
    ribs, strength = int(pen.rng.integers(5, 8)), pen.rng.uniform(0.01, 0.035)
    outline = _round(lambda a: 0.62 * (1 + strength * math.cos(ribs * a)), 1.08, 0.92)
    pen.shape(outline, pen.near((206, 52, 38)), 0.6)
    for turn in np.linspace(0, 2 * math.pi, 6, endpoint=False):
        pen.leaf(0.0, -0.44, float(turn) + 0.3, 0.26)
    pen.line([(0.0, -0.44), (0.02, -0.62)], _GREEN, 0.05)


def _lemon(pen: Pen) -> None:
    tip = pen.rng.uniform(0.10, 0.17)

    def radius(a: float) -> float:
        at_right = math.exp(-((a - math.pi / 2) ** 2) / 0.02)
        at_left = math.exp(-((a - 3 * math.pi / 2) ** 2) / 0.02)
        return 0.56 * (1 + tip * (at_right + 0.8 * at_left))

    pen.shape(_round(radius, 1.25, 0.88), pen.near((236, 208, 64)))
    for _ in range(26):
        x, y = pen.rng.uniform(-0.5, 0.5, 2)
        pen.line([(x, y * 0.7), (x + 0.012, y * 0.7 + 0.008)], (214, 184, 48), 0.016)


def _mushroom(pen: Pen) -> None:
    stem = pen.rng.uniform(0.15, 0.2)
    pen.shape(
        [(-stem, -0.05), (stem, -0.05), (stem * 1.25, 0.55), (0, 0.64), (-stem * 1.25, 0.55)],
        pen.near((232, 222, 204), 8), 0.1,
    )  # fmt: skip
    height = pen.rng.uniform(0.5, 0.62)
    angles = np.linspace(-math.pi / 2, math.pi / 2, 80)
    cap = [(0.66 * math.sin(a), 0.08 - height * math.cos(a)) for a in angles]
    under = [(0.6 * math.cos(a), 0.08 + 0.1 * math.sin(a)) for a in np.linspace(0, math.pi, 40)]
    colours = ((176, 132, 92), (206, 186, 156), (150, 104, 72))
    pen.shape([*cap, *under], pen.near(colours[int(pen.rng.integers(3))]))


_DRAWN: dict[str, Callable[[Pen], None]] = {
    "apple": _apple, "pear": _pear, "carrot": _carrot, "tomato": _tomato, "lemon": _lemon,
    "mushroom": _mushroom,
}  # fmt: skip
