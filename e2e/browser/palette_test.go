//go:build screenshots

package browser_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// maxColours is how many colours a picture has at most. Pages have few; the rest are edges of letters.
const maxColours = 64

// maxHeight is the height of a picture at most, in pixels: the rest of longer pages is left out.
const maxHeight = 1600

// small returns a PNG with fewer colours, and so of fewer bytes.
func small(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	size := from.Bounds()
	size.Max.Y = min(size.Max.Y, size.Min.Y+maxHeight)
	count := map[color.RGBA]int{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[rgba(from.At(x, y))]++
		}
	}
	palette := choose(count)
	nearest := map[color.RGBA]uint8{}
	to := image.NewPaletted(size, palette)
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			c := rgba(from.At(x, y))
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to)
	return b.Bytes(), err
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

// choose returns the palette: again and again the colour whose pixels would be drawn most wrongly without it.
func choose(count map[color.RGBA]int) (chosen color.Palette) {
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { // the same picture has the same bytes
		return cmp.Or(cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	wrong := make([]int, len(all)) // the squared distance to the nearest chosen colour
	for i := range wrong {
		wrong[i] = 1 << 20
	}
	for len(chosen) < min(maxColours, len(all)) {
		worst := 0
		for i, c := range all {
			if wrong[i]*count[c] > wrong[worst]*count[all[worst]] {
				worst = i
			}
		}
		chosen = append(chosen, all[worst])
		for i, c := range all {
			wrong[i] = min(wrong[i], distance(c, all[worst]))
		}
	}
	return chosen
}

// distance is the square of the distance of two colours.
func distance(a, b color.RGBA) int {
	r, g, u := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + u*u
}
