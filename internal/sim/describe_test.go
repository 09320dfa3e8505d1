package sim

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/region"
)

// described is a command, a fact or an answer in a line of the trace: its fields
// that are not zero, what pointers point to, and no addresses, which differ from run
// to run.
type described struct{ v any }

func (d described) String() string {
	if d.v == nil {
		return "nothing"
	}
	var b strings.Builder
	describe(&b, reflect.ValueOf(d.v))
	return b.String()
}

func describe(b *strings.Builder, v reflect.Value) {
	if s, ok := stringer(v); ok {
		b.WriteString(s)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nothing")
			return
		}
		describe(b, v.Elem())
	case reflect.Struct:
		b.WriteString(v.Type().Name())
		describeFields(b, v)
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			describe(b, v.Index(i))
		}
		b.WriteByte(']')
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

// stringer is the text of what has one, and of bytes.
func stringer(v reflect.Value) (text string, ok bool) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("%q", v.Bytes()), true
	}
	if !v.CanInterface() || v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		return "", false
	}
	s, ok := v.Interface().(fmt.Stringer)
	if !ok {
		return "", false
	}
	return s.String(), true
}

func describeFields(b *strings.Builder, v reflect.Value) {
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		if v.Field(i).IsZero() || !v.Type().Field(i).IsExported() {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(v.Type().Field(i).Name + ":")
		describe(b, v.Field(i))
	}
	b.WriteByte('}')
}

// describedFacts are the facts of a record, each with its room.
type describedFacts struct{ facts []event.Fact }

func (d describedFacts) String() string {
	if len(d.facts) == 0 {
		return "no facts"
	}
	var all []string
	for _, f := range d.facts {
		all = append(all, fmt.Sprintf("%s in %s", described{f.Body}, partName(f.Room)))
	}
	return strings.Join(all, ", ")
}

// partName names a part of a shard.
func partName(room uint32) string {
	switch room {
	case 0:
		return "the catalog"
	case region.PlacementsRoom:
		return "the placements"
	case region.MatchmakingRoom:
		return "the tickets"
	case region.ShardRoom:
		return "the shard"
	default:
		return fmt.Sprint("room ", room)
	}
}
