"""Make the font of the site's mathematics, book/_static/fonts/stix-two-math-subset.woff2, from STIX Two Math 2.12.

Usage: math_font.py /path/to/STIXTwoMath-Regular.otf     (with TeX Live: `kpsewhich STIXTwoMath-Regular.otf`)

The font is reduced to the characters that books of mathematics use (a test names one that is missing), and two of its
constants are changed.  Browsers lower an index with the depth of the letter before it, and raise an exponent with its
height; TeX gives every letter the same shift, and keeps these constants for tall brackets and fractions.  And a prime has
the form that it takes as an exponent, which Chromium does not look for.  And root signs of all heights are equally wide,
as in TeX: Chromium keeps room for the widest.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen

FONT = Path(__file__).resolve().parents[1] / "_static" / "fonts" / "stix-two-math-subset.woff2"
CHARACTERS = """20-7E A0 A8 AC AF B1 B4 B7 D7 F7 131 237 2C6 2C7 2D8-2DC 300-30C 332 338 391-3F6 2009 2016 2020 2026 2032-2034
203E 2061-2064 20D7 2102 210B 210E 2110 2112 2113 2115 211B 211D 2124 2190-2199 21A6 21D0-21D5 2200-222B 2235-223C 2243-2265
226A 226B 2282-2287 2295-2299 22A4 22A5 22C5 22C6 22EE-22F1 2308-230B 239B-23AE 23B0 23B1 23DC-23DF 27E8 27E9 27F5-27FA
2A00-2A02 FE00 FE01 1D400-1D4CF 1D538-1D56B 1D6A4-1D755 1D7CE-1D7D7"""
FEATURES = ["math", "ssty", "dtls", "flac", "locl", "ccmp"]
CONSTANTS = {"SubscriptBaselineDropMin": -30, "SuperscriptBaselineDropMax": 355}  # thousandths of the font's size
PRIMES, ROOT = range(0x2032, 0x2035), 0x221A


def characters() -> set[int]:
    ends = [piece.partition("-") for piece in CHARACTERS.split()]
    return {code for first, _, last in ends for code in range(int(first, 16), int(last or first, 16) + 1)}


def equal_roots(font):
    """Squeeze the taller root signs, and the parts of the tallest, to the width of the lowest."""
    glyphs, outlines, widths = font.getGlyphSet(), font["CFF "].cff.topDictIndex[0].CharStrings, font["hmtx"].metrics
    lowest, variants = font.getBestCmap()[ROOT], font["MATH"].table.MathVariants
    signs = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(lowest)]
    for name in [*(sign.VariantGlyph for sign in signs.MathGlyphVariantRecord), *(part.glyph for part in signs.GlyphAssembly.PartRecords)]:
        width, old = widths[lowest][0], outlines[name]
        pen = T2CharStringPen(width, None)
        glyphs[name].draw(TransformPen(pen, (width / widths[name][0], 0, 0, 1, 0, 0)))
        outlines[name] = pen.getCharString(old.private, old.globalSubrs)
        widths[name] = (width, round(widths[name][1] * width / widths[name][0]))


def make(source: Path, target: Path = FONT):
    """Write the reduced font; the same source gives the same bytes."""
    options = subset.Options(flavor="woff2", hinting=False, layout_features=FEATURES)
    font = subset.load_font(str(source), options)
    reduced = subset.Subsetter(options)
    reduced.populate(unicodes=characters())
    reduced.subset(font)
    for name, value in CONSTANTS.items():
        getattr(font["MATH"].table.MathConstants, name).Value = value
    equal_roots(font)
    for table in font["cmap"].tables:
        table.cmap |= {prime: f"{table.cmap[prime]}.ssty" for prime in PRIMES if prime in table.cmap}
    subset.save_font(font, str(target), options)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("wanted the path of STIXTwoMath-Regular.otf, got " + (" ".join(sys.argv[1:]) or "nothing"))
    make(Path(sys.argv[1]))
    print(f"{FONT.stat().st_size / 1000:.0f} kB: {FONT}")
