package console

import (
	"fmt"
	"strconv"
	"strings"
)

// The map is an equirectangular projection of two units to a degree, from 80° north to 60° south.
const (
	mapNorth, mapSouth  = 80, -60
	mapScale            = 2
	mapWidth, mapHeight = 360 * mapScale, (mapNorth - mapSouth) * mapScale
	mapStep             = 5 // degrees between the dots of land

	labelHeight, letterWidth = 13, 6.2 // of a text, at most
)

// land is where land is, in rows of mapStep degrees from the north to the south: pairs of longitudes from west to
// east. It is rough: enough to find a continent.
var land = [...][]int{
	{-120, -80, -70, -20, 10, 30, 95, 110},
	{-160, -150, -125, -75, -55, -20, 20, 30, 50, 60, 70, 145},
	{-165, -60, -55, -30, -20, -15, 10, 180},
	{-165, -95, -80, -65, -50, -40, -20, -15, 5, 180},
	{-160, -150, -135, -90, -80, -60, -5, 0, 5, 20, 20, 140, 155, 165},
	{-130, -80, -80, -55, -10, 0, 5, 140, 155, 160},
	{-125, -65, -60, -55, -5, 135, 140, 145},
	{-125, -70, -10, 5, 10, 50, 50, 130, 140, 145},
	{-125, -75, -10, 0, 0, 10, 20, 45, 45, 120, 125, 130, 135, 140},
	{-120, -80, -10, 25, 30, 120, 130, 135},
	{-115, -95, -85, -80, -15, 35, 35, 50, 55, 120},
	{-110, -95, -85, -75, -20, 40, 40, 60, 70, 115, 120, 125},
	{-105, -90, -75, -70, -20, 40, 45, 55, 75, 85, 95, 110, 120, 125},
	{-90, -85, -15, 50, 75, 80, 100, 110, 120, 125},
	{-80, -60, -15, 45, 80, 85, 100, 105, 115, 120, 125, 130},
	{-80, -50, 10, 45, 95, 105, 110, 120, 120, 125},
	{-80, -40, 10, 40, 100, 105, 110, 115, 120, 125, 130, 145},
	{-80, -35, 15, 40, 105, 115, 140, 150},
	{-75, -40, 15, 40, 130, 135, 140, 145},
	{-75, -40, 15, 40, 45, 50, 125, 145},
	{-70, -45, 15, 35, 45, 50, 115, 150},
	{-70, -50, 15, 35, 115, 155},
	{-70, -55, 20, 30, 115, 130, 135, 150},
	{-75, -60, 140, 150, 175, 180},
	{-75, -65, 145, 150, 170, 175},
	{-75, -65, 165, 170},
	{-75, -70, -60, -55},
	{-70, -65},
}

// landPath is the path of the dots of land: each a line without length, whose ends are round.
var landPath = func() string {
	var b strings.Builder
	for row, spans := range land {
		y := (row*mapStep + mapStep/2 + 1) * mapScale
		for i := 0; i+1 < len(spans); i += 2 {
			for lon := spans[i]; lon < spans[i+1]; lon += mapStep {
				fmt.Fprintf(&b, "M%d %dh0", (lon+180)*mapScale+mapStep, y)
			}
		}
	}
	return b.String()
}()

// A worldMap is the drawing of locations; the table of locations has the same facts.
type worldMap struct {
	Width, Height int
	Land          string // path
	Dots          []mapDot
}

// A mapDot is a location with its text.
type mapDot struct {
	X, Y         int
	TextX, TextY int
	Left         bool // the text ends at TextX
	Class        string
	Text         string
}

// newWorldMap draws the locations whose coordinates are known; nil: there is none.
func newWorldMap(rows []locationRow) *worldMap {
	m := &worldMap{Width: mapWidth, Height: mapHeight, Land: landPath}
	for _, r := range rows {
		if r.Position == nil {
			continue
		}
		lat := min(mapNorth, max(mapSouth, r.Position.lat))
		d := mapDot{X: int(mapScale * (r.Position.lon + 180)), Y: int(mapScale * (mapNorth - lat)), Class: r.Class(),
			Text: r.Name}
		if r.Latency != nil {
			d.Text += " " + strconv.Itoa(r.Latency.P50) + " ms"
		}
		m.place(&d)
		m.Dots = append(m.Dots, d)
	}
	if m.Dots == nil {
		return nil
	}
	return m
}

// place finds room for the text of a dot: beside it, or else above or below, next to those that have one.
func (m *worldMap) place(d *mapDot) {
	for _, shift := range []int{0, labelHeight, -labelHeight, 2 * labelHeight, -2 * labelHeight} {
		for _, d.Left = range []bool{d.X > mapWidth*3/4, d.X > mapWidth/4} {
			d.TextX, d.TextY = d.X+9, d.Y+4+shift
			if d.Left {
				d.TextX = d.X - 9
			}
			if !m.covered(d) {
				return
			}
		}
	}
}

// covered reports whether a text would be over another one, or over a dot.
func (m *worldMap) covered(d *mapDot) bool {
	from, to := d.span()
	for _, o := range m.Dots {
		begin, end := o.span()
		if from < end && begin < to && max(d.TextY-o.TextY, o.TextY-d.TextY) < labelHeight {
			return true
		}
		if from < o.X+5 && o.X-5 < to && max(d.TextY-4-o.Y, o.Y-d.TextY+4) < labelHeight {
			return true
		}
	}
	return false
}

// span returns where the text begins and ends.
func (d *mapDot) span() (from, to int) {
	width := int(letterWidth * float64(len([]rune(d.Text))))
	if d.Left {
		return d.TextX - width, d.TextX
	}
	return d.TextX, d.TextX + width
}
