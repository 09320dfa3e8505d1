package wire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"
)

// A maker fills structures with random values that their encoding can carry.
// Reflection is for tests alone.
type maker struct {
	*rand.Rand
	// full: nothing is absent, no string is empty, and no integer is the smallest
	// of its width, which the AWS client for Go negates in that width.
	full  bool
	depth int
}

// fill sets the fields of the structure that v points to.
func (m *maker) fill(v any) { m.set(reflect.ValueOf(v).Elem(), true) }

// set gives v a random value; optional ones stay absent now and then.
func (m *maker) set(v reflect.Value, optional bool) {
	if optional && !m.full && m.depth > 0 && m.IntN(4) == 0 {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *Opt[int32]:
		*p = Some(int32(m.integer32()))
	case *Opt[int64]:
		*p = Some(m.integer())
	case *Opt[float32]:
		*p = Some(float32(m.float()))
	case *Opt[float64]:
		*p = Some(m.float())
	case *Opt[bool]:
		*p = Some(m.IntN(2) == 0)
	case *Opt[string]:
		*p = Some(m.text())
	case *time.Time:
		*p = time.UnixMilli(m.Int64N(4e12) - 1e12).UTC()
	case *[]byte:
		*p = []byte(m.text())
	default:
		m.setKind(v)
	}
}

func (m *maker) setKind(v reflect.Value) {
	m.depth++
	defer func() { m.depth-- }()
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.text())
	case reflect.Int32, reflect.Int64:
		v.SetInt(m.integer32())
	case reflect.Float64:
		v.SetFloat(m.float())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		m.set(v.Elem(), false)
	case reflect.Struct:
		for i := range v.NumField() {
			m.set(v.Field(i), true)
		}
	case reflect.Slice:
		n := m.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			m.set(v.Index(i), false)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range m.IntN(4) {
			e := reflect.New(v.Type().Elem()).Elem()
			m.set(e, false)
			v.SetMapIndex(reflect.ValueOf(m.text()), e)
		}
	default:
		panic(fmt.Sprintf("no random %s", v.Type()))
	}
}

// text is a string of any length with characters that need care.
func (m *maker) text() string {
	letters := []rune("abcXYZ019-:/ \"\\\n\t\x00\x1f\x7fé–\u2028漢😀")
	n := m.IntN(12)
	if m.full {
		n++
	}
	if m.IntN(8) == 0 {
		n = m.IntN(300)
	}
	s := make([]rune, n)
	for i := range s {
		s[i] = letters[m.IntN(len(letters))]
	}
	return string(s)
}

// integer is a number of any size, with those beside the widths of the encodings.
func (m *maker) integer() int64 {
	edges := []int64{0, 1, -1, 23, 24, -24, -25, 255, 256, 65535, 65536, math.MaxInt32, math.MinInt32, math.MaxInt64,
		math.MinInt64}
	n := m.Int64() >> m.IntN(64)
	if m.IntN(2) == 0 {
		n = edges[m.IntN(len(edges))]
	}
	if m.full {
		return max(n, -math.MaxInt64)
	}
	return n
}

// integer32 is an integer of 32 bits.
func (m *maker) integer32() int64 {
	n := int64(int32(m.integer()))
	if m.full {
		return max(n, -math.MaxInt32)
	}
	return n
}

func (m *maker) float() float64 {
	edges := []float64{0, 1, -1, 0.1, 1e-7, 1e21, 1e300, math.MaxFloat64, math.Inf(1), math.Inf(-1), 65504, 1.5}
	if m.IntN(2) == 0 {
		return edges[m.IntN(len(edges))]
	}
	return m.NormFloat64() * 1e6
}
