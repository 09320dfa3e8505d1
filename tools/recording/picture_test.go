package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDraw(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       {""},
		"a<b":                    {`<tspan x="0">a&lt;b</tspan>`},
		"  \x1b[32mok\x1b[0m é":  {`<tspan x="16" fill="#56d364">ok</tspan><tspan x="32"> é</tspan>`},
		strings.Repeat("x", 100): {`<tspan x="0">` + strings.Repeat("x", 100) + "</tspan>"},
		strings.Repeat("x", 101): {`<tspan x="0">` + strings.Repeat("x", 100) + "</tspan>", `<tspan x="0">x</tspan>`},
	} {
		if got := draw(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPauses(t *testing.T) {
	at := 100 * time.Millisecond
	all := []line{{"a", 0}, {"b", at}, {strings.Repeat("c", 150), at}, {"d", time.Hour}}
	_, got := layout(all)
	want := []time.Duration{firstPause, 500 * time.Millisecond, shortest, 0, longest, lastPause}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPicture holds the recording in the documentation to what pages can show.
func TestPicture(t *testing.T) {
	committed, err := os.ReadFile("../../docs/images/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	if len(committed) > 200_000 || !strings.Contains(string(committed), "Demo passed.") {
		t.Errorf("docs/images/demo.svg has %d bytes, or does not pass", len(committed))
	}
	for _, svg := range []string{string(committed), string(picture([]line{{"a & b", 0}}))} {
		d := xml.NewDecoder(strings.NewReader(svg))
		for err = nil; err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}
