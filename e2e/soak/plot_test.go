//go:build unix

package soak

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The picture: small multiples, three in a row.
const (
	columns              = 3
	panelWidth           = 300
	panelHeight          = 190
	plotLeft, plotTop    = 48, 30 // of the axes, in the panel
	plotWidth            = panelWidth - plotLeft - 14
	plotHeight           = panelHeight - plotTop - 34
	titleHeight          = 34
	lineColour, axColour = "#1f5fa8", "#57606a"
)

// svg draws the course of a run, with the medians that were compared.
func (p *profile) svg(title string) string {
	rows := (len(p.series) + columns - 1) / columns
	width, height := columns*panelWidth, titleHeight+rows*panelHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`font-family="system-ui, sans-serif" font-size="11" fill="#24292f">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="12" y="22" font-size="14" font-weight="600">%s</text>`+"\n", escape(title))
	verdicts := p.judge()
	for i, s := range p.series {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWidth,
			titleHeight+i/columns*panelHeight)
		panel := &panel{Builder: &b, profile: p, series: s, top: niceTop(s.values)}
		panel.draw()
		if verdicts != nil {
			panel.medians(&verdicts[i])
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// A panel is one of the small plots.
type panel struct {
	*strings.Builder
	profile *profile
	series  *series
	top     float64 // of the y axis, which begins with 0
}

func (p *panel) end() time.Duration { return p.profile.times[len(p.profile.times)-1] }

func (p *panel) x(t time.Duration) float64 {
	return plotLeft + plotWidth*t.Seconds()/p.end().Seconds()
}

func (p *panel) y(v float64) float64 { return plotTop + plotHeight*(1-v/p.top) }

func (p *panel) draw() {
	title := p.series.name
	if p.series.unit != "" {
		title += ", " + p.series.unit
	}
	fmt.Fprintf(p, `<text x="%d" y="18" font-weight="600">%s</text>`+"\n", plotLeft, escape(title))
	fmt.Fprintf(p, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="#eaeef2"/>`+"\n", plotLeft, plotTop,
		p.x(p.profile.warmUp)-plotLeft, plotHeight)
	p.axes()
	fmt.Fprintf(p, `<polyline fill="none" stroke="%s" stroke-width="1.4" points="`, lineColour)
	for i, v := range p.series.values {
		fmt.Fprintf(p, "%.1f,%.1f ", p.x(p.profile.times[i]), p.y(v))
	}
	p.WriteString(`"/>` + "\n")
}

// axes draws the grid with its numbers.
func (p *panel) axes() {
	const steps = 4
	for i := range steps + 1 {
		v := p.top * float64(i) / steps
		fmt.Fprintf(p, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#d0d7de" stroke-width="0.7"/>`, plotLeft,
			plotLeft+plotWidth, p.y(v), p.y(v))
		fmt.Fprintf(p, `<text x="%d" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", plotLeft-5, p.y(v)+4,
			axColour, shortNumber(v))
	}
	step := timeStep(p.end())
	for t := time.Duration(0); t <= p.end(); t += step {
		fmt.Fprintf(p, `<text x="%.1f" y="%d" text-anchor="middle" fill="%s">%s</text>`, p.x(t), plotTop+plotHeight+15,
			axColour, shortTime(t))
	}
	fmt.Fprintf(p, `<text x="%d" y="%d" text-anchor="middle" fill="%s">time</text>`+"\n", plotLeft+plotWidth/2,
		plotTop+plotHeight+28, axColour)
}

// medians draws the two that are compared.
func (p *panel) medians(v *verdict) {
	times := p.profile.times[p.profile.steady():]
	n := len(times)
	colour := "#1a7f37"
	if !v.flat {
		colour = "#cf222e"
	}
	for _, m := range []struct {
		from, to time.Duration
		value    float64
	}{{times[n/4], times[n/2], v.start}, {times[n*3/4], times[n-1], v.end}} {
		fmt.Fprintf(p, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="2.2"/>`+"\n",
			p.x(m.from), p.x(m.to), p.y(m.value), p.y(m.value), colour)
	}
}

// niceTop is the end of an axis: above all values, and round when divided by four.
func niceTop(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	if most == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 4, 6, 8, 10} {
		if top := factor * power; top >= most*1.05 {
			return top
		}
	}
	return 20 * power
}

// timeStep is the distance of the numbers on the time axis.
func timeStep(end time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour,
	} {
		if end/step <= 6 {
			return step
		}
	}
	return 6 * time.Hour
}

func shortTime(t time.Duration) string {
	switch {
	case t == 0:
		return "0"
	case t < time.Minute:
		return fmt.Sprintf("%d s", t/time.Second)
	case t%time.Minute == 0:
		return fmt.Sprintf("%d min", t/time.Minute)
	}
	return fmt.Sprintf("%.1f min", t.Minutes())
}

// shortNumber is a number with three digits that count.
func shortNumber(v float64) string {
	switch abs := math.Abs(v); {
	case v == 0:
		return "0"
	case abs >= 100:
		return fmt.Sprintf("%.0f", v)
	case abs >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
